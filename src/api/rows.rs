//! Operations along an axis: softmax, norms, reductions, sums.

use super::tensor::plain;
use super::{ArgmaxOptions, CumsumOptions, NormOptions, ReduceOp, ReduceOptions, SoftmaxOptions, Tensor};
use crate::Result;
use crate::tensor::norm::{self, layer_norm, rms_norm, softmax};
use crate::tensor::reduce::{TopKOptions, argmax, reduce, top_k};
use crate::tensor::scan::cumsum;
use crate::tensor::{Tape, Tensor as Plain};

/// The inputs of [`Tensor::rms_norm_with`] and [`Tensor::layer_norm_with`] besides x, all f32.
#[derive(Debug, Clone, Copy, Default)]
pub struct NormInputs<'a> {
    /// `[width]`; 1 where it is missing.
    pub weight: Option<&'a Tensor>,
    /// `[width]`, added at the end.
    pub bias: Option<&'a Tensor>,
    /// Like x, added to it before the norm.
    pub residual: Option<&'a Tensor>,
}

/// A norm of `tensor::norm`.
type Norm = fn(&mut Tape, &Plain, &norm::NormInputs, &NormOptions) -> Result<Vec<Plain>>;

macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident: $op:ident,)*) => {$(
        $(#[$doc])*
        /// f32 without that axis; a negative one counts from the last. [`Tensor::reduce`] can keep it.
        ///
        /// # Errors
        /// `invalid_argument` where there is no such axis, and for other types than f32.
        pub fn $name(&self, axis: Option<i32>) -> Result<Tensor> {
            self.reduce(&ReduceOptions { op: ReduceOp::$op, axis, keep_dims: false })
        }
    )*};
}

/// # Operations along an axis
///
/// All inputs are f32.
impl Tensor {
    /// Softmax over the last axis: [`Tensor::softmax_with`] without options.
    ///
    /// # Errors
    /// As [`Tensor::softmax_with`].
    pub fn softmax(&self) -> Result<Tensor> {
        self.softmax_with(None, &SoftmaxOptions::default())
    }

    /// e^x divided by the sum of its row, the last axis, after scale, soft cap and mask → f32 like x. The mask is
    /// added to the scores: its last axis is that of x, each before it is equal or 1, and leading ones may be missing.
    /// −∞ gives 0; a row of −∞ alone gives zeros.
    ///
    /// # Errors
    /// `invalid_argument` where shapes, types or options do not fit.
    pub fn softmax_with(&self, mask: Option<&Tensor>, options: &SoftmaxOptions) -> Result<Tensor> {
        self.make("softmax", &[mask], |tape| softmax(tape, self.plain(), plain(mask), options))
    }

    /// v / √(mean v² + eps) · weight over the last axis, with the weight `[width]` f32 and an eps of 1e-5 (Zhang and
    /// Sennrich 2019, <https://arxiv.org/abs/1910.07467>) → f32 like x.
    ///
    /// # Errors
    /// `invalid_argument` where shapes or types do not fit.
    pub fn rms_norm(&self, weight: &Tensor) -> Result<Tensor> {
        let inputs = NormInputs { weight: Some(weight), ..Default::default() };
        self.rms_norm_with(&inputs, &NormOptions::default()).map(|(y, _)| y)
    }

    /// v / √(mean v² + eps) · (offset + weight) + bias with v = x + residual over the last axis → f32 like
    /// x and, with `sum` in the options, v.
    ///
    /// # Errors
    /// `invalid_argument` where shapes, types or options do not fit.
    pub fn rms_norm_with(&self, inputs: &NormInputs, options: &NormOptions) -> Result<(Tensor, Option<Tensor>)> {
        self.norm("rmsNorm", rms_norm, inputs, options)
    }

    /// (v − mean v) / √(variance + eps) · weight + bias over the last axis, with weight and bias `[width]` f32 and an
    /// eps of 1e-5 (Ba et al. 2016, <https://arxiv.org/abs/1607.06450>) → f32 like x.
    ///
    /// # Errors
    /// `invalid_argument` where shapes or types do not fit.
    pub fn layer_norm(&self, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
        let inputs = NormInputs { weight: Some(weight), bias: Some(bias), residual: None };
        self.layer_norm_with(&inputs, &NormOptions::default()).map(|(y, _)| y)
    }

    /// (v − mean v) / √(variance + eps) · (offset + weight) + bias with v = x + residual over the last axis →
    /// f32 like x and, with `sum` in the options, v.
    ///
    /// # Errors
    /// `invalid_argument` where shapes, types or options do not fit.
    pub fn layer_norm_with(&self, inputs: &NormInputs, options: &NormOptions) -> Result<(Tensor, Option<Tensor>)> {
        self.norm("layerNorm", layer_norm, inputs, options)
    }

    reductions! {
        /// Sums along an axis, or of the whole tensor →
        sum: Sum,
        /// Means along an axis, or of the whole tensor →
        mean: Mean,
        /// Products along an axis, or of the whole tensor →
        product: Product,
        /// The largest along an axis, or of the whole tensor →
        max: Max,
        /// The smallest along an axis, or of the whole tensor →
        min: Min,
    }

    /// Sum, mean, product, largest or smallest along an axis, or of the whole tensor → f32. What becomes of NaN is up
    /// to the device.
    ///
    /// # Errors
    /// `invalid_argument` where there is no such axis, and for other types than f32.
    pub fn reduce(&self, options: &ReduceOptions) -> Result<Tensor> {
        self.make("reduce", &[], |tape| reduce(tape, self.plain(), options))
    }

    /// Where the largest lies along an axis, or in the whole tensor → u32: the lowest index among equals; NaN is less
    /// than all.
    ///
    /// # Errors
    /// `invalid_argument` where there is no such axis, and for other types than f32.
    pub fn argmax(&self, options: &ArgmaxOptions) -> Result<Tensor> {
        self.make("argmax", &[], |tape| argmax(tape, self.plain(), options))
    }

    /// The k largest of the last axis, in descending order: values `[.., k]` f32 and where they lie, `[.., k]` u32,
    /// the lowest index first among equals.
    ///
    /// # Errors
    /// `invalid_argument` for other types than f32, and for a k of 0, above 256 or above the axis's length.
    pub fn top_k(&self, k: u32) -> Result<(Tensor, Tensor)> {
        let made = self.record("topK", &[], |tape| top_k(tape, self.plain(), &TopKOptions { k }))?;
        let [values, indices] = made.map(|made| self.device().own(made));
        Ok((values, indices))
    }

    /// Running sums along an axis, the last if none is given → f32 like x.
    ///
    /// # Errors
    /// `invalid_argument` where there is no such axis, and for other types than f32.
    pub fn cumsum(&self, options: &CumsumOptions) -> Result<Tensor> {
        self.make("cumsum", &[], |tape| cumsum(tape, self.plain(), options))
    }

    fn norm(
        &self,
        op: &str,
        norm: Norm,
        &NormInputs { weight, bias, residual }: &NormInputs,
        options: &NormOptions,
    ) -> Result<(Tensor, Option<Tensor>)> {
        let inputs = norm::NormInputs { weight: plain(weight), bias: plain(bias), residual: plain(residual) };
        let others = [weight, bias, residual];
        let made = self.record(op, &others, |tape| norm(tape, self.plain(), &inputs, options))?;
        let mut made = made.into_iter().map(|made| self.device().own(made));
        let y = made.next().unwrap_or_else(|| panic!("{op} made nothing"));
        Ok((y, made.next()))
    }
}
