//! Models at work: a model's weights on a device, sessions that use them, and the loop from prompt to text.

mod adapters;
mod checkpoints;
mod cpu;
#[cfg(target_arch = "wasm32")]
mod drafting;
mod embed;
mod fork;
mod gpu;
mod input;
mod load;
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "the GPU's passes use all of it"))]
mod pass;
mod run;
mod saved;
#[cfg(any(target_arch = "wasm32", test))]
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "the GPU's sessions use all of it"))]
mod sequence;
mod session;

pub use adapters::AdapterUse;
pub use cpu::CpuSession;
pub use embed::{AnyEmbedder, CpuEmbedder, EmbedEngine, EmbedOptions};
pub use gpu::drafts::Drafting;
#[cfg(target_arch = "wasm32")]
pub use gpu::embedder::GpuEmbedder;
#[cfg(target_arch = "wasm32")]
pub use gpu::lane::GpuLane;
#[cfg(target_arch = "wasm32")]
pub use gpu::model::GpuModel;
#[cfg(target_arch = "wasm32")]
pub use gpu::row_cache::RowSource;
#[cfg(target_arch = "wasm32")]
pub use gpu::session::{GpuSession, MAX_DEPTH};
pub use input::HeldRows;
#[cfg(target_arch = "wasm32")]
pub use load::builder::{GpuModelBuilder, GpuRun, TensorSlice};
#[cfg(target_arch = "wasm32")]
pub use load::self_check::SelfCheck;
#[cfg(target_arch = "wasm32")]
pub use load::tuning::Tuning;
pub use run::constraint::{Compiling, Constraint};
pub use run::generate::Engine;
pub use run::logprobs::ChosenToken;
pub use run::outcome::{FinishReason, Outcome, Piece};
pub use run::request::GenerateOptions;
pub use saved::snapshot::{Fits, Head, START};
pub use session::{AnySession, Listener, NO_TOKEN, RunIds, Session, Token};
