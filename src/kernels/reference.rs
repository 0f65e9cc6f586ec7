//! Every kernel in plain Rust: what the tests compare the GPU with, and what [`cpu`](crate::cpu) computes with.
//!
//! Each is a function of slices with its shapes in the doc comment; activations are f32, row-major, the token
//! outermost. The functions check shapes with assertions: a wrong shape is a bug of the caller, never of a file, whose
//! numbers `config` and `model` have checked.

pub use super::argmax::reference::*;
pub use super::attention::reference::*;
pub use super::attention::reference_merge::*;
pub use super::attention_batch::reference::*;
pub use super::attention_strided::reference::*;
pub use super::conv_causal::reference::*;
pub use super::delta_net::reference::*;
pub use super::elementwise::reference::*;
pub use super::fill::reference::*;
pub use super::find_rows::reference::*;
pub use super::gather::reference::*;
pub use super::gather_axis::reference::*;
pub use super::kv_type::cache::{CacheElement, HeadRows};
pub use super::kv_type::cache_blocks::{RoundedBlock, round_block};
pub use super::kv_write::reference::*;
pub use super::layer_norm::reference::*;
pub use super::mat_mul::reference::*;
pub use super::mat_mul_dense::reference::*;
pub use super::mat_mul_grouped::reference::*;
pub use super::mat_mul_int8::reference::*;
pub use super::mat_mul_subgroup_matrix::reference::*;
pub use super::mat_vec::reference::*;
pub use super::movement::reference::*;
pub use super::norm::reference::*;
pub use super::output_gate::reference::*;
pub use super::pool::reference::*;
pub use super::reduce::reference::*;
pub use super::repack::packed::*;
pub use super::repack::reference::*;
pub use super::rope::reference::*;
pub use super::rope::reference_table::*;
pub use super::route::reference::*;
pub use super::selective_scan::reference::*;
pub use super::sinkhorn::reference::*;
pub use super::softmax::reference::*;
pub use super::ssm_scan::reference::*;
pub use super::swiglu::reference::*;
