//! Loads a model onto the GPU, and chooses and checks its kernels.

pub(super) mod builder;
mod encoder_check;
pub(super) mod made;
pub(super) mod request;
mod self_check;
pub(super) mod staging;
pub(super) mod tuning;
pub(super) mod verdict;
