//! Models without a GPU: an interpreter of programs, with the [references](crate::kernels::reference) of the kernels
//! as its operations.
//!
//! Weights stay in the file's own block format and are dequantised a piece at a time. Activations are f32, row-major,
//! the token outermost. Products of one token may round activations to 16 bits, see [`CpuModelBuilder::rounding`].

mod adapters;
mod attend;
mod caches;
mod embed;
mod encode;
mod experts;
mod frequencies;
mod heads;
mod interpreter;
mod model;
mod product;
mod recurrent;
mod sampled;
mod source;
mod streams;
mod switch;
mod threads;
mod weights;

pub use crate::kernels::kv_type::cache::CacheFormat;
pub use adapters::ActiveAdapter;
pub use embed::Input;
pub use model::{CpuModel, Logits, Pass};
pub use sampled::{SampledModel, sampled_rows};
pub use threads::{Shape, Team, Thread, Threads};
pub use weights::{CpuModelBuilder, Samples, take_sample};
