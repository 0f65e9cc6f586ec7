//! Sessions on the GPU: lanes, their passes, and the scheduler that runs them.

pub(super) mod adapters;
pub(super) mod choice;
pub(super) mod draft_model;
pub(super) mod drafts;
pub(super) mod embedder;
pub(super) mod evaluation;
#[cfg(feature = "harness")]
pub(super) mod few_rows;
pub(super) mod growth;
pub(super) mod lane;
pub(super) mod lane_drafts;
pub(super) mod lane_passes;
pub(super) mod lane_reading;
pub(super) mod lanes;
pub(super) mod lists;
pub(super) mod model;
pub(super) mod next;
pub(super) mod pace;
pub(super) mod queue;
pub(super) mod row_cache;
pub(super) mod scheduler;
pub(super) mod session;
pub(super) mod slots;
pub(super) mod snapshot;
pub(super) mod states;
pub(super) mod turns;
