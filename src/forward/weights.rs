//! The weights of a model on the GPU, and where each tensor of the file goes.

use std::collections::HashMap;

use super::experts::ExpertPart;
use super::row_cache::RowCache;
use crate::kernels::layout::Matrix;
use crate::kernels::spec::{BufferId, Slice};
use crate::model::WeightKey;

/// Where one tensor goes.
#[derive(Debug, Clone)]
pub enum Target {
    /// Rows of matrices, to be repacked: runs in the order of the tensor's rows.
    Rows(Vec<RowRun>),
    /// Values of vectors, as f32.
    Vectors(Vec<VectorRun>),
    /// Values from which the host makes others: factors of RoPE frequencies, and matrices of
    /// [`Program::conditions`](crate::model::program::Program::conditions).
    Kept(WeightKey),
}

/// Rows of a tensor that are rows of a matrix.
#[derive(Debug, Clone)]
pub struct RowRun {
    /// The first of the tensor's rows.
    pub from: u32,
    /// How many.
    pub rows: u32,
    /// The matrix.
    pub matrix: Matrix,
    /// The first of the matrix's rows.
    pub row: u32,
}

/// Values of a tensor that are values of a vector buffer.
#[derive(Debug, Clone, Copy)]
pub struct VectorRun {
    /// The first of the tensor's values.
    pub from: usize,
    /// How many.
    pub count: usize,
    /// The buffer.
    pub buffer: BufferId,
    /// Its first byte.
    pub offset: u64,
}

/// One product of a projection: neighbouring matrices of one type, with their biases.
#[derive(Debug, Clone)]
pub struct Part {
    /// Stacked rows.
    pub matrix: Matrix,
    /// First output among those of the projection.
    pub first_output: u32,
    /// `[matrix.rows]` f32.
    pub bias: Option<Slice>,
}

/// The products of one activation, in order of their outputs; one part where all types agree and it fits a binding.
pub type Projection = Vec<Part>;

/// The weights of a model, by the tensor that names them.
#[derive(Debug, Clone, Default)]
pub struct Weights {
    /// Embedding tables `[vocab, hidden]`.
    pub tables: HashMap<WeightKey, Matrix>,
    /// The table that is not among them, since only some of its rows are on the GPU.
    pub row_cache: Option<RowCache>,
    /// By the first of their matrices.
    pub projections: HashMap<WeightKey, Projection>,
    /// Weights and biases of norms and convolutions, factors: f32; what heads have of their own, by the first.
    pub vectors: HashMap<WeightKey, Slice>,
    /// What [`Prologue::Update`](crate::kernels::prologue::Prologue::Update) reads, by the weights of the update's
    /// norm.
    pub updates: HashMap<WeightKey, Slice>,
    /// Weights of the norms of the heads of q and of k `[2, head_dim]`, or of q alone, by the former.
    pub head_norms: HashMap<WeightKey, Slice>,
    /// Matrices of experts, by the first: gate and up, together or one after the other, and down.
    pub experts: HashMap<WeightKey, Vec<ExpertPart>>,
}

/// Places tensors; `targets` is indexed like the tensor table of the file.
pub struct Placement {
    /// The weights.
    pub weights: Weights,
    /// Where each tensor goes; `None` for tensors that the model does not use.
    pub targets: Vec<Option<Target>>,
}
