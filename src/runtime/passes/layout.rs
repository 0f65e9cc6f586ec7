//! Where the data of a session lies.

use crate::forward::Buffers;
use crate::model::ModelConfig;
use crate::model::program::Program;

/// What the plans of a session are made from.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Layout<'a> {
    pub config: &'a ModelConfig,
    pub program: &'a Program,
    pub buffers: &'a Buffers,
}

impl Layout<'_> {
    /// Bytes of one row of the residual stream.
    pub fn row_bytes(&self) -> u64 {
        self.config.hidden as u64 * 4
    }
}
