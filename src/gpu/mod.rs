//! The only place that knows wgpu and the browser's device: opening it, buffers, pipelines, and running the
//! command lists that `forward` writes.

mod device;
mod list;
mod pipeline;
mod readback;
mod shim;

pub use device::{AdapterFacts, Gpu};
pub use list::{BufferTable, CommandList};
pub use readback::Ring;
