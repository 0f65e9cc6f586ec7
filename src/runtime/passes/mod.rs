//! The plans of passes: functions from texts and the places of their data to steps for the GPU.

pub(super) mod axes;
pub(super) mod batch;
pub(super) mod block;
pub(super) mod decode;
pub(super) mod layout;
pub(super) mod prefill;
pub(super) mod request;
pub(super) mod round;
pub(super) mod rows;
pub(super) mod saved;
pub(super) mod source;
pub(super) mod states;
pub(super) mod whole;
