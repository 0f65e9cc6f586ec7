//! Products of matrices.

use super::tensor::plain;
use super::{GateUpOptions, GatedOptions, MatmulOptions, ProjectOptions, Tensor};
use crate::Result;
use crate::tensor::fused::{gate_up, gated_linear_unit, project};
use crate::tensor::grouped::matmul_grouped;
use crate::tensor::matmul::matmul;

/// # Products
///
/// Matrices are the last two axes of a tensor. Weights may be f32, f16, bf16 or blocks of a GGUF type.
impl Tensor {
    /// This `[.., m, k]` times `other` `[.., k, n]` → `[.., m, n]` f32: [`Tensor::matmul_with`] without options.
    ///
    /// # Errors
    /// As [`Tensor::matmul_with`].
    pub fn matmul(&self, other: &Tensor) -> Result<Tensor> {
        self.matmul_with(other, None, None, &MatmulOptions::default())
    }

    /// activation(this · other + bias) + residual: this `[.., m, k]` and other `[.., k, n]`, both f32, f16 or bf16; or
    /// other a matrix in blocks of a GGUF type, with which this is not transposed, and f32 with `transpose_b`. Axes
    /// before the last two are equal, or 1 in one of them, or missing. bias `[n]` f32, residual f32 like the result →
    /// `[.., m, n]` f32.
    ///
    /// # Errors
    /// `invalid_argument` where shapes or types do not fit; `limit_exceeded` for more bytes than the device binds.
    pub fn matmul_with(
        &self,
        other: &Tensor,
        bias: Option<&Tensor>,
        residual: Option<&Tensor>,
        options: &MatmulOptions,
    ) -> Result<Tensor> {
        self.make("matmul", &[Some(other), bias, residual], |tape| {
            matmul(tape, self.plain(), other.plain(), plain(bias), plain(residual), options)
        })
    }

    /// norm(x) · wᵀ + bias, in one dispatch where that is faster: x `[.., k]` f32, `weights` `[n, k]`, the weight
    /// `norm` of an RMS norm `[k]` f32 (without it x stays as it is), bias `[n]` f32 → `[.., n]` f32.
    ///
    /// # Errors
    /// `invalid_argument` where shapes, types or options do not fit.
    pub fn project(
        &self,
        weights: &Tensor,
        norm: Option<&Tensor>,
        bias: Option<&Tensor>,
        options: &ProjectOptions,
    ) -> Result<Tensor> {
        self.make("project", &[Some(weights), norm, bias], |tape| {
            project(tape, self.plain(), weights.plain(), plain(norm), plain(bias), options)
        })
    }

    /// activation(n · Gᵀ) · (n · Uᵀ) with n = norm(x), in one dispatch where that is faster: the first half of a gated
    /// feed-forward (Shazeer 2020, <https://arxiv.org/abs/2002.05202>). x `[.., k]` f32, `weights` `[2n, k]` with the
    /// rows of G before those of U, the weight `norm` of an RMS norm `[k]` f32 → `[.., n]` f32.
    ///
    /// # Errors
    /// `invalid_argument` where shapes, types or options do not fit.
    pub fn gate_up(&self, weights: &Tensor, norm: Option<&Tensor>, options: &GateUpOptions) -> Result<Tensor> {
        self.make("gateUp", &[Some(weights), norm], |tape| {
            gate_up(tape, self.plain(), weights.plain(), plain(norm), options)
        })
    }

    /// activation(g) · u for rows that hold g before u: x `[.., 2n]` f32 → `[.., n]` f32.
    ///
    /// # Errors
    /// `invalid_argument` where shape or type does not fit.
    pub fn gated(&self, options: &GatedOptions) -> Result<Tensor> {
        self.make("gated", &[], |tape| gated_linear_unit(tape, self.plain(), options))
    }

    /// Each row by the matrices of its experts: x `[tokens, k]`, or `[tokens, top, k]` with a row for each slot;
    /// `experts` `[count, n, k]`, at most 256; ids `[tokens, top]` u32 → `[tokens, top, n]` f32. With weights
    /// `[tokens, top]` f32 the weighted results of a token are added up to `[tokens, n]`. An id that is no expert
    /// contributes 0.
    ///
    /// # Errors
    /// `invalid_argument` where shapes or types do not fit.
    pub fn matmul_grouped(&self, experts: &Tensor, ids: &Tensor, weights: Option<&Tensor>) -> Result<Tensor> {
        self.make("matmulGrouped", &[Some(experts), Some(ids), weights], |tape| {
            matmul_grouped(tape, self.plain(), experts.plain(), ids.plain(), plain(weights))
        })
    }
}
