//! Loads a model onto the GPU, and chooses and checks its kernels.

#[cfg(target_arch = "wasm32")]
pub(super) mod builder;
#[cfg(target_arch = "wasm32")]
mod encoder_check;
#[cfg(target_arch = "wasm32")]
pub(super) mod self_check;
#[cfg(target_arch = "wasm32")]
pub(super) mod staging;
#[cfg(target_arch = "wasm32")]
pub(super) mod tuning;
