//! Every kernel in plain Rust: the reference of the GPU tests, and the path without a GPU.
//!
//! Each kernel is a function of slices with its shapes in the doc comment; activations are f32, row-major, the token
//! outermost. Weights stay in the file's own block format and are dequantised a piece at a time. [`CpuModel`] puts the
//! kernels together. The functions check shapes with assertions: a wrong shape is a bug of the caller, never of a
//! file, whose numbers `config` and `model` have checked.

mod argmax;
mod attention;
mod attention_batch;
mod attention_merge;
mod attention_strided;
mod cache;
mod cache_blocks;
mod conv_causal;
mod delta_net;
mod elementwise;
mod embed;
mod experts;
mod fill;
mod find_rows;
mod gather;
pub mod gather_axis;
mod interpreter;
mod kv_write;
mod layer_norm;
mod mat_mul;
mod mat_mul_dense;
mod mat_mul_grouped;
mod mat_vec;
mod model;
pub mod movement;
mod output_gate;
pub mod packed;
mod pool;
mod quantise;
mod reduce;
pub mod repack;
mod rms_norm;
mod rope;
mod rope_table;
mod round_f16;
mod route;
mod sampled;
mod selective_scan;
mod sinkhorn;
mod softmax;
mod ssm_scan;
mod swiglu;
mod weights;

pub use argmax::argmax;
pub use attention::{AttentionShape, attention, attention_over};
pub use attention_batch::{Visible, attention_batch};
pub use attention_merge::attention_merge;
pub use attention_strided::{AttentionRules, Head, attention_head};
pub use cache::{CacheElement, CacheFormat, HeadRows};
pub use cache_blocks::{RoundedBlock, round_block};
pub use conv_causal::conv_causal;
pub use delta_net::{DeltaInputs, DeltaShape, delta_net};
pub use elementwise::{broadcast_index, elementwise};
pub use fill::fill;
pub use find_rows::find_rows;
pub use gather::gather;
pub use kv_write::kv_write;
pub use layer_norm::{NormShape, layer_norm};
pub use mat_mul::mat_mul;
pub use mat_mul_dense::{activate, gelu, mat_mul_dense};
pub use mat_mul_grouped::{expert_offsets, expert_sum, mat_mul_grouped};
pub use mat_vec::{Matrix, mat_vec};
pub use model::{CpuModel, Logits, Pass};
pub use output_gate::output_gate;
pub use pool::pool;
pub use quantise::{QuantBlock, quantise};
pub use reduce::{argmax_axis, cumsum, reduce, top_k};
pub use rms_norm::rms_norm;
pub use rope::{frequencies, rope, rope_scaled};
pub use rope_table::{YarnScaling, rope_table, yarn};
pub use round_f16::{HalfRow, round_f16};
pub use route::{Routing, route};
pub use sampled::{SampledModel, sampled_rows};
pub use selective_scan::{ScanInputs, selective_scan};
pub use sinkhorn::sinkhorn;
pub use softmax::{ScoreShape, log_sum_exp, softmax, softmax_rows};
pub use ssm_scan::{SsmHeads, SsmSizes, SsmToken, softplus, ssm_scan};
pub use swiglu::{gated, geglu, silu, swiglu};
pub use weights::{CpuModelBuilder, Samples, take_sample};
