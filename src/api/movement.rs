//! Operations that move elements.

use super::{Shape, Tensor};
use crate::tensor::Tensor as Plain;
use crate::tensor::gather::{AxisOptions, embedding, scatter_add, take};
use crate::tensor::movement::{
    ConcatOptions, ExpandOptions, NarrowOptions, TransposeOptions, concat, expand, narrow, transpose,
};
use crate::tensor::reshape::{ReshapeOptions, reshape};
use crate::{Error, Result};

/// # Movement of elements
///
/// Copies of tensors of every type but blocks of a GGUF type, bit for bit. Each operation makes a new tensor. Axes that
/// are negative count from the last.
impl Tensor {
    /// The same elements in another shape.
    ///
    /// # Errors
    /// `invalid_argument` where the shape has another number of elements.
    pub fn reshape(&self, shape: impl Into<Shape>) -> Result<Tensor> {
        let options = ReshapeOptions { shape: shape.into().into() };
        self.make("reshape", &[], |tape| reshape(tape, self.plain(), &options))
    }

    /// The last two axes change places.
    ///
    /// # Errors
    /// `invalid_argument` for fewer than two axes.
    pub fn transpose(&self) -> Result<Tensor> {
        self.make("transpose", &[], |tape| transpose(tape, self.plain(), &TransposeOptions::default()))
    }

    /// The axes in another order: axis i of the result is axis `axes[i]`.
    ///
    /// # Errors
    /// `invalid_argument` where `axes` are not those of the tensor, each once.
    pub fn transpose_axes(&self, axes: &[i32]) -> Result<Tensor> {
        let options = TransposeOptions { axes: Some(axes.to_vec()) };
        self.make("transpose", &[], |tape| transpose(tape, self.plain(), &options))
    }

    /// `length` elements of an axis, from `start` on.
    ///
    /// # Errors
    /// `invalid_argument` where there are no such elements.
    pub fn narrow(&self, axis: i32, start: u32, length: u32) -> Result<Tensor> {
        let options = NarrowOptions { axis, start, length };
        self.make("narrow", &[], |tape| narrow(tape, self.plain(), &options))
    }

    /// Tensors one after the other along an axis.
    ///
    /// # Errors
    /// `invalid_argument` for no tensor, and where types or other axes differ.
    pub fn concat(tensors: &[&Tensor], axis: i32) -> Result<Tensor> {
        let Some(first) = tensors.first() else {
            return Err(Error::invalid_argument("concat: no tensors are given"));
        };
        let inputs: Vec<&Plain> = tensors.iter().map(|tensor| tensor.plain()).collect();
        let others: Vec<Option<&Tensor>> = tensors.iter().copied().map(Some).collect();
        first.make("concat", &others, |tape| concat(tape, &inputs, &ConcatOptions { axis }))
    }

    /// Broadcast to a shape: aligned at the last axis, an axis of 1 is repeated.
    ///
    /// # Errors
    /// `invalid_argument` where the tensor does not broadcast to it.
    pub fn expand(&self, shape: impl Into<Shape>) -> Result<Tensor> {
        let options = ExpandOptions { shape: shape.into().into() };
        self.make("expand", &[], |tape| expand(tape, self.plain(), &options))
    }

    /// Elements of an axis by index: this `[..a, n, ..b]` and indices `[..s]`, u32 or i32 → `[..a, ..s, ..b]`. An index
    /// outside 0 to n − 1 gives NaN, or 2³² − 1 in u32 and −2³¹ in i32.
    ///
    /// # Errors
    /// `invalid_argument` where there is no such axis or indices are no integers.
    pub fn gather(&self, indices: &Tensor, axis: i32) -> Result<Tensor> {
        self.make("gather", &[Some(indices)], |tape| take(tape, self.plain(), indices.plain(), &AxisOptions { axis }))
    }

    /// This tensor, f32 `[..a, n, ..b]`, with values `[..a, ..s, ..b]` f32 added at indices `[..s]`, u32 or i32. Equal
    /// indices add up, in the same order in every run; an index outside 0 to n − 1 is ignored.
    ///
    /// # Errors
    /// `invalid_argument` where shapes or types do not fit.
    pub fn scatter_add(&self, indices: &Tensor, values: &Tensor, axis: i32) -> Result<Tensor> {
        self.make("scatterAdd", &[Some(indices), Some(values)], |tape| {
            scatter_add(tape, self.plain(), indices.plain(), values.plain(), &AxisOptions { axis })
        })
    }

    /// Rows of this matrix `[n, k]`, of any float type or blocks of a GGUF type, by ids `[..s]`, u32 or i32 →
    /// `[..s, k]` f32. An id outside 0 to n − 1 gives a row of NaN.
    ///
    /// # Errors
    /// `invalid_argument` where shapes or types do not fit; `limit_exceeded` for more than 65,535 ids into blocks.
    pub fn embedding(&self, ids: &Tensor) -> Result<Tensor> {
        self.make("embedding", &[Some(ids)], |tape| embedding(tape, self.plain(), ids.plain()))
    }
}
