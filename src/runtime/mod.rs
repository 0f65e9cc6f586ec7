//! Models at work: a model's weights on a device, sessions over them, and the loop from prompt to text.

#[cfg(target_arch = "wasm32")]
mod builder;
mod checkpoints;
mod constraint;
mod cpu;
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "the GPU's passes use all of it"))]
mod drafts;
mod embed;
#[cfg(target_arch = "wasm32")]
mod embedder;
#[cfg(all(target_arch = "wasm32", feature = "harness"))]
mod few_rows;
mod fork;
mod generate;
#[cfg(target_arch = "wasm32")]
mod gpu_choice;
#[cfg(target_arch = "wasm32")]
mod gpu_evaluation;
#[cfg(target_arch = "wasm32")]
mod gpu_growth;
#[cfg(target_arch = "wasm32")]
mod gpu_lanes;
#[cfg(target_arch = "wasm32")]
mod gpu_model;
#[cfg(target_arch = "wasm32")]
mod gpu_session;
#[cfg(target_arch = "wasm32")]
mod gpu_snapshot;
#[cfg(target_arch = "wasm32")]
mod gpu_states;
mod input;
#[cfg(any(target_arch = "wasm32", test))]
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "the GPU's passes use all of it"))]
mod lane_drafts;
#[cfg(target_arch = "wasm32")]
mod lane_passes;
#[cfg(target_arch = "wasm32")]
mod lane_reading;
#[cfg(any(target_arch = "wasm32", test))]
#[cfg_attr(not(target_arch = "wasm32"), expect(dead_code, reason = "the GPU's passes use all of it"))]
mod lanes;
#[cfg(target_arch = "wasm32")]
mod lists;
mod logprobs;
#[cfg(any(target_arch = "wasm32", test))]
mod pace;
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "the GPU's passes use all of it"))]
mod pass;
#[cfg(target_arch = "wasm32")]
mod queue;
mod recovery;
#[cfg(any(target_arch = "wasm32", test))]
mod regions;
#[cfg(target_arch = "wasm32")]
mod row_cache;
#[cfg(target_arch = "wasm32")]
mod scheduler;
#[cfg(target_arch = "wasm32")]
mod self_check;
#[cfg(any(target_arch = "wasm32", test))]
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "the GPU's sessions use all of it"))]
mod sequence;
mod session;
#[cfg(any(target_arch = "wasm32", test))]
mod slots;
mod snapshot;
mod speculation;
#[cfg(target_arch = "wasm32")]
mod staging;
#[cfg(target_arch = "wasm32")]
mod tuning;
#[cfg(any(target_arch = "wasm32", test))]
mod turns;

#[cfg(target_arch = "wasm32")]
pub use builder::{GpuModelBuilder, GpuRun, TensorSlice};
pub use constraint::{Compiling, Constraint};
pub use cpu::CpuSession;
pub use drafts::Drafting;
pub use embed::{AnyEmbedder, CpuEmbedder, EmbedEngine, EmbedOptions};
#[cfg(target_arch = "wasm32")]
pub use embedder::GpuEmbedder;
pub use generate::{Engine, FinishReason, GenerateOptions, Outcome, Piece};
#[cfg(target_arch = "wasm32")]
pub use gpu_lanes::GpuLane;
#[cfg(target_arch = "wasm32")]
pub use gpu_model::GpuModel;
#[cfg(target_arch = "wasm32")]
pub use gpu_session::{GpuSession, MAX_DEPTH};
pub use logprobs::ChosenToken;
#[cfg(target_arch = "wasm32")]
pub use row_cache::RowSource;
#[cfg(target_arch = "wasm32")]
pub use self_check::SelfCheck;
pub use session::{AnySession, NO_TOKEN, RunIds, Session, Token};
pub use snapshot::{Fits, Head, START};
#[cfg(target_arch = "wasm32")]
pub use tuning::Tuning;
