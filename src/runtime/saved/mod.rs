//! Sessions as files, and parts of buffers.

#[cfg(any(target_arch = "wasm32", test))]
pub(super) mod regions;
pub(super) mod snapshot;
