//! What loading a model gives, and the pieces that tensors come in.

use crate::runtime::gpu::embedder::GpuEmbedder;
use crate::runtime::gpu::session::GpuSession;

/// A part of a tensor that is uploaded at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorSlice {
    /// Offset in bytes of the slice in its tensor, not before the end of the slice before.
    pub offset: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Number of the slice's first row in the tensor.
    pub(super) first_row: u32,
    pub(super) rows: u32,
}

/// A model on the GPU, ready for use.
pub enum GpuRun {
    /// A session that writes text.
    Session(Box<GpuSession>),
    /// An embedder that gives vectors or scores.
    Embedder(Box<GpuEmbedder>),
}
