//! Models at work: a model's weights on a device, sessions that use them, and the loop from prompt to text.

mod adapter_use;
mod adapters;
mod any;
mod checkpoints;
mod cpu;
mod cpu_text;
mod draft;
mod drafting;
mod drive;
mod embed;
mod fork;
mod gpu;
mod held_rows;
mod input;
mod kept_states;
mod load;
mod pass;
mod passes;
mod plan;
#[cfg(test)]
mod plan_text;
mod positions;
mod prefixes;
mod read;
mod run;
mod saved;
mod schedule;
mod session;
mod text;

pub use any::AnySession;
pub use cpu::CpuSession;
pub use draft::drafting::Drafting;
pub use embed::{AnyEmbedder, CpuEmbedder, EmbedEngine, EmbedOptions};
pub use gpu::embedder::GpuEmbedder;
#[cfg(feature = "harness")]
pub use gpu::few_rows::FewRows;
pub use gpu::lane::GpuLane;
pub use gpu::model::GpuModel;
pub use gpu::reads::MAX_DEPTH;
pub use gpu::row_cache::RowSource;
pub use gpu::session::GpuSession;
pub use held_rows::HeldRows;
pub use load::builder::GpuModelBuilder;
pub use load::made::{GpuRun, TensorSlice};
pub use load::request::{LoadRequest, Loaded, Matched, context_length};
pub use load::tuning::Tuning;
pub use load::verdict::SelfCheck;
pub use prefixes::store::PrefixCache;
pub use run::engine::Engine;
pub use run::guide::{Compiling, Constraint};
pub use run::logprobs::ChosenToken;
pub use run::outcome::{FinishReason, Outcome, Piece};
pub use run::request::GenerateOptions;
pub use saved::head::{Fits, Head, START};
pub use session::{AdapterUse, Listener, NO_TOKEN, RunIds, Session, Token};
