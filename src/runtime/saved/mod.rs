//! Sessions saved as files, and the parts of buffers that these have.

#[cfg(any(target_arch = "wasm32", test))]
pub(super) mod regions;
pub(super) mod snapshot;
