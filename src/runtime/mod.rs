//! Models at work: a model's weights on a device, sessions that use them, and the loop from prompt to text.

mod adapters;
mod checkpoints;
mod cpu;
mod drafting;
mod embed;
mod fork;
mod gpu;
mod input;
mod load;
mod pass;
mod run;
mod saved;
mod sequence;
mod session;

pub use adapters::AdapterUse;
pub use cpu::CpuSession;
pub use embed::{AnyEmbedder, CpuEmbedder, EmbedEngine, EmbedOptions};
pub use gpu::drafts::Drafting;
pub use gpu::embedder::GpuEmbedder;
pub use gpu::lane::GpuLane;
pub use gpu::model::GpuModel;
pub use gpu::row_cache::RowSource;
pub use gpu::session::{GpuSession, MAX_DEPTH};
pub use input::HeldRows;
pub use load::builder::{GpuModelBuilder, GpuRun, TensorSlice};
pub use load::request::{LoadRequest, Loaded, Matched, context_length};
pub use load::self_check::SelfCheck;
pub use load::tuning::Tuning;
pub use run::constraint::{Compiling, Constraint};
pub use run::generate::Engine;
pub use run::logprobs::ChosenToken;
pub use run::outcome::{FinishReason, Outcome, Piece};
pub use run::request::GenerateOptions;
pub use saved::snapshot::{Fits, Head, START};
pub use session::{AnySession, Listener, NO_TOKEN, RunIds, Session, Token};
