//! The only place that knows wgpu and the browser's device: opening it, buffers, pipelines, and running the
//! command lists that `forward` writes.

mod buffer;
#[cfg(feature = "harness")]
mod case;
mod device;
#[cfg(feature = "harness")]
mod large;
mod list;
mod pipeline;
mod readback;
#[cfg(feature = "harness")]
mod run;
mod shim;
mod submit;
mod tensors;
mod unpack_f16;

pub use buffer::{Buffer, BufferTable};
#[cfg(feature = "harness")]
pub use case::CaseRun;
pub use device::{AdapterFacts, Device};
#[cfg(feature = "harness")]
pub use large::LargeRun;
pub use list::CommandList;
pub use pipeline::Ahead;
pub use readback::{ReadBack, Ring};
pub use submit::{Copy, Part};
pub use tensors::TensorGpu;
