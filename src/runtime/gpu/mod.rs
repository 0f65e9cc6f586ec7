//! What the runtime has on a device: models, sessions, and what executes plans.

pub(super) mod adapters;
pub(super) mod embedder;
pub(super) mod execute;
#[cfg(feature = "harness")]
pub(super) mod few_rows;
pub(super) mod input_rows;
pub(super) mod lane;
pub(super) mod lane_copies;
pub(super) mod lane_reading;
pub(super) mod list_sets;
pub(super) mod lists;
pub(super) mod model;
pub(super) mod pace;
pub(super) mod plans;
pub(super) mod prefixes;
pub(super) mod queue;
pub(super) mod reads;
pub(super) mod row_cache;
pub(super) mod session;
pub(super) mod slots;
pub(super) mod source;
pub(super) mod turns;
