//! Sessions on the GPU: lanes, their passes, and the scheduler that runs them.

#[cfg(target_arch = "wasm32")]
pub(super) mod adapters;
#[cfg(target_arch = "wasm32")]
pub(super) mod choice;
#[cfg(target_arch = "wasm32")]
pub(super) mod draft_model;
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "the GPU's passes use all of it"))]
pub(super) mod drafts;
#[cfg(target_arch = "wasm32")]
pub(super) mod embedder;
#[cfg(target_arch = "wasm32")]
pub(super) mod evaluation;
#[cfg(all(target_arch = "wasm32", feature = "harness"))]
pub(super) mod few_rows;
#[cfg(target_arch = "wasm32")]
pub(super) mod growth;
#[cfg(target_arch = "wasm32")]
pub(super) mod lane;
#[cfg(any(target_arch = "wasm32", test))]
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "the GPU's passes use all of it"))]
pub(super) mod lane_drafts;
#[cfg(target_arch = "wasm32")]
pub(super) mod lane_passes;
#[cfg(target_arch = "wasm32")]
pub(super) mod lane_reading;
#[cfg(any(target_arch = "wasm32", test))]
#[cfg_attr(not(target_arch = "wasm32"), expect(dead_code, reason = "the GPU's passes use all of it"))]
pub(super) mod lanes;
#[cfg(target_arch = "wasm32")]
pub(super) mod lists;
#[cfg(target_arch = "wasm32")]
pub(super) mod model;
#[cfg(target_arch = "wasm32")]
pub(super) mod next;
#[cfg(any(target_arch = "wasm32", test))]
pub(super) mod pace;
#[cfg(target_arch = "wasm32")]
pub(super) mod queue;
#[cfg(target_arch = "wasm32")]
pub(super) mod row_cache;
#[cfg(target_arch = "wasm32")]
pub(super) mod scheduler;
#[cfg(target_arch = "wasm32")]
pub(super) mod session;
#[cfg(any(target_arch = "wasm32", test))]
pub(super) mod slots;
#[cfg(target_arch = "wasm32")]
pub(super) mod snapshot;
#[cfg(target_arch = "wasm32")]
pub(super) mod states;
#[cfg(any(target_arch = "wasm32", test))]
pub(super) mod turns;
