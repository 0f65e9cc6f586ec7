//! Sessions saved as files, and the parts of buffers that these have.

pub(super) mod head;
pub(super) mod regions;
pub(super) mod snapshot;
