//! Architectures as data: which tensors a model has, what they are for and how large they must be.
//!
//! Names and wiring only; no kernels and no GPU. A new architecture is a row of [`ARCHITECTURES`], and, where it has a
//! tensor that no other has, a [`Role`] and a row of the tensor table in `tensors.rs`.

mod architecture;
mod tensors;

pub use architecture::{ARCHITECTURES, Architecture, Bias, RopeStyle};
pub use tensors::{Role, WeightSpec, match_tensors, weight_specs};

pub(crate) use tensors::{EMBEDDING, HEAD};
