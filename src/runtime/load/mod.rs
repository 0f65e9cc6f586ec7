//! Loads a model onto the GPU, and chooses and checks its kernels.

pub(super) mod builder;
mod encoder_check;
pub(super) mod request;
pub(super) mod self_check;
pub(super) mod staging;
pub(super) mod tuning;
