//! Models at work: a model's weights on a device, sessions over them, and the loop from prompt to text.

mod cpu;
mod generate;
#[cfg(target_arch = "wasm32")]
mod gpu_session;
mod session;
#[cfg(target_arch = "wasm32")]
mod upload;

pub use cpu::CpuSession;
pub use generate::{Engine, FinishReason, GenerateOptions, Outcome, Piece};
#[cfg(target_arch = "wasm32")]
pub use gpu_session::{GpuSession, MAX_DEPTH, make_buffers};
pub use session::{AnySession, NO_TOKEN, Session, Token};
#[cfg(target_arch = "wasm32")]
pub use upload::Uploader;
