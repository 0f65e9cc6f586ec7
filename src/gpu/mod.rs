//! The only place that knows wgpu: opening a device, buffers, pipelines, and running the command lists that `forward`
//! writes. What differs in browsers and outside is in `platform`.

mod buffer;
#[cfg(feature = "harness")]
mod case;
mod device;
#[cfg(feature = "harness")]
mod large;
mod list;
mod pipeline;
mod platform;
mod readback;
#[cfg(feature = "harness")]
mod run;
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
pub use platform::{Ahead, run as in_background};
pub use readback::{ReadBack, Ring};
pub use submit::{Commands, Copy, Part};
pub use tensors::TensorGpu;
