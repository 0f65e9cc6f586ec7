//! Normalisations: softmax, layer norm, RMS norm, Sinkhorn's projection.
//!
//! | operation | inputs | options | gives |
//! |---|---|---|---|
//! | `softmax` | x, mask? | `{scale?, causal?, softCap?}` | f32 |
//! | `layerNorm`, `rmsNorm` | x, weight?, bias?, residual? | `{eps?, weightOffset?, sum?}` | f32; also x + residual |
//! | `sinkhorn` | x | `{iterations?, tolerance?}` | f32 |
//!
//! All inputs are f32.

use super::{DType, MAX_RANK, Tape, Tensor, rows_and_cols};
use crate::kernels::layer_norm::{Norm, norm};
use crate::kernels::sinkhorn::{MAX_SINGLE, Sinkhorn, sinkhorn_large};
use crate::kernels::softmax::{Mask, Softmax};
use crate::{Error, Result};

/// Options of [`softmax`].
#[derive(Debug, Clone, Default)]
pub struct SoftmaxOptions {
    /// The weights; 1 if not given.
    pub scale: Option<f32>,
    /// x is `[.., queries, keys]`: the last query attends to all keys, each query before it to one less.
    pub causal: bool,
    /// `cap · tanh(x / cap)` after the scale, before the mask.
    pub soft_cap: Option<f32>,
}

/// Softmax over the last axis of x, f32. The mask, f32, is added to the scores: its last axis is x's, each axis before
/// it is equal or 1, and leading axes may be missing. Scores of −∞ (or any not above -3.0e38) have weight 0; a row of
/// nothing else gives zeros.
///
/// # Errors
/// `invalid_argument` where shapes, types or options do not fit.
pub fn softmax(tape: &mut Tape, x: &Tensor, mask: Option<&Tensor>, options: &SoftmaxOptions) -> Result<Tensor> {
    const OP: &str = "softmax";
    check_float(OP, "x", x)?;
    if x.shape.is_empty() || (options.causal && x.shape.len() < 2) {
        let least = if options.causal { "two axes, queries and keys" } else { "one axis" };
        return Err(Error::invalid_argument(format!("{OP}: x is {}; it must have at least {least}", x.describe())));
    }
    let scale = options.scale.unwrap_or(1.0);
    let cap = options.soft_cap.unwrap_or(1.0);
    if !scale.is_finite() || !cap.is_finite() || cap <= 0.0 {
        let message = format!("{OP}: scale {scale} and soft cap {cap}; both must be finite, the cap above 0");
        return Err(Error::invalid_argument(message));
    }
    let mask = mask.map(|mask| mask_of(x, mask)).transpose()?;
    let (_, width) = rows_and_cols(&x.shape);
    let leading = leading_axes(&x.shape);
    let problem = Softmax { leading, width, scale, soft_cap: options.soft_cap, mask, causal: options.causal };
    let y = tape.output(DType::F32, &x.shape)?;
    let dispatch = crate::kernels::softmax::softmax(tape.caps(), &problem, x.slice(), tape.dummy(), y.slice());
    tape.push(dispatch);
    Ok(y)
}

/// The axes before the last one, filled up with ones in front.
fn leading_axes(shape: &[u32]) -> [u32; MAX_RANK - 1] {
    let mut leading = [1; MAX_RANK - 1];
    let before = &shape[..shape.len() - 1];
    let start = leading.len() - before.len();
    leading[start..].copy_from_slice(before);
    leading
}

/// How the mask's rows are broadcast to x's.
fn mask_of(x: &Tensor, mask: &Tensor) -> Result<Mask> {
    let unfit = || {
        let pair = format!("softmax: x is {} and the mask {}", x.describe(), mask.describe());
        Error::invalid_argument(format!("{pair}; the mask must be f32, its axes those of x or, before the last, 1"))
    };
    if mask.dtype != DType::F32 || mask.shape.is_empty() || mask.shape.len() > x.shape.len() {
        return Err(unfit());
    }
    let (of_x, of_mask) = (leading_axes(&x.shape), leading_axes(&mask.shape));
    let fits = of_x.iter().zip(&of_mask).all(|(&x, &mask)| mask == x || mask == 1);
    if mask.shape.last() != x.shape.last() || !fits {
        return Err(unfit());
    }
    let mut strides = [0; MAX_RANK - 1];
    let mut rows = 1;
    for (axis, &length) in of_mask.iter().enumerate().rev() {
        strides[axis] = if length == 1 { 0 } else { rows };
        rows *= length;
    }
    Ok(Mask { mask: mask.slice(), strides })
}

/// Options of [`layer_norm`] and [`rms_norm`].
#[derive(Debug, Clone, Default)]
pub struct NormOptions {
    /// Added under the root; 1e-5 if it is not given.
    pub eps: Option<f32>,
    /// Added to every weight: 1 for Gemma's norms.
    pub weight_offset: f32,
    /// Also return x + residual.
    pub sum: bool,
}

/// The inputs of a norm besides x, all f32.
#[derive(Debug, Clone, Copy, Default)]
pub struct NormInputs<'a> {
    /// `[width]`.
    pub weight: Option<&'a Tensor>,
    /// `[width]`.
    pub bias: Option<&'a Tensor>,
    /// Like x, added to it before.
    pub residual: Option<&'a Tensor>,
}

/// Layer norm over the last axis of x, f32: `(v − mean) / √(variance + eps) · (offset + weight) + bias` with
/// `v = x + residual` → y like x and, with `sum`, v.
///
/// # Errors
/// `invalid_argument` where shapes, types or options do not fit.
pub fn layer_norm(tape: &mut Tape, x: &Tensor, others: &NormInputs, options: &NormOptions) -> Result<Vec<Tensor>> {
    rows_norm(tape, ("layerNorm", true), x, others, options)
}

/// RMS norm over the last axis of x, f32: `v / √(mean v² + eps) · (offset + weight) + bias` with `v = x + residual` →
/// y like x and, with `sum`, v.
///
/// # Errors
/// `invalid_argument` where shapes, types or options do not fit.
pub fn rms_norm(tape: &mut Tape, x: &Tensor, others: &NormInputs, options: &NormOptions) -> Result<Vec<Tensor>> {
    rows_norm(tape, ("rmsNorm", false), x, others, options)
}

fn rows_norm(
    tape: &mut Tape,
    (op, centred): (&str, bool),
    x: &Tensor,
    others: &NormInputs,
    options: &NormOptions,
) -> Result<Vec<Tensor>> {
    check_float(op, "x", x)?;
    if x.shape.is_empty() {
        return Err(Error::invalid_argument(format!("{op}: x is {}; it must have an axis", x.describe())));
    }
    let (rows, width) = rows_and_cols(&x.shape);
    let slice = |input: Option<&Tensor>, what: &str, shape: &[u32]| match input {
        Some(tensor) if tensor.dtype != DType::F32 || tensor.shape != shape => {
            let pair = format!("x is {} and {what} {}", x.describe(), tensor.describe());
            let expected = super::describe(DType::F32, shape);
            Err(Error::invalid_argument(format!("{op}: {pair}; {what} must be {expected}")))
        }
        input => Ok(input.map(Tensor::slice)),
    };
    let weight = slice(others.weight, "weight", &[width])?;
    let bias = slice(others.bias, "bias", &[width])?;
    let residual = slice(others.residual, "residual", &x.shape)?;
    let eps = options.eps.unwrap_or(1e-5);
    if !(eps >= 0.0 && eps.is_finite() && options.weight_offset.is_finite()) {
        let message = format!(
            "{op}: eps {eps} and weight offset {}; both must be finite, eps not below 0",
            options.weight_offset
        );
        return Err(Error::invalid_argument(message));
    }
    let y = tape.output(DType::F32, &x.shape)?;
    let sum = if options.sum { Some(tape.output(DType::F32, &x.shape)?) } else { None };
    let unused = if options.sum { tape.dummy() } else { tape.scratch(16)? };
    let weight_offset = options.weight_offset;
    let sum_slice = sum.as_ref().map(Tensor::slice);
    let problem = Norm { centred, rows, width, eps, weight_offset, residual, weight, bias, sum: sum_slice };
    let dispatch = norm(tape.caps(), &problem, [x.slice(), y.slice()], tape.dummy(), unused);
    tape.push(dispatch);
    Ok([Some(y), sum].into_iter().flatten().collect())
}

/// Options of [`sinkhorn`].
#[derive(Debug, Clone, Default)]
pub struct SinkhornOptions {
    /// The most normalisations of rows and columns, up to 1,000: 20 if it is not given, and 100 with a tolerance.
    pub iterations: Option<u32>,
    /// Stop once all sums of rows are this close to 1.
    pub tolerance: Option<f32>,
}

/// Projects x `[.., n, n]`, f32, onto the doubly stochastic matrices: rows and then columns are divided by their sums,
/// alternately (Sinkhorn and Knopp 1967) → f32, shape of x. Numbers must not be negative, which is not checked; a row
/// or column of zeros is left as it is.
///
/// # Errors
/// `invalid_argument` where shapes, types or options do not fit.
pub fn sinkhorn(tape: &mut Tape, x: &Tensor, options: &SinkhornOptions) -> Result<Tensor> {
    const OP: &str = "sinkhorn";
    const MOST: u32 = 1000;
    check_float(OP, "x", x)?;
    let [before @ .., rows, n] = x.shape.as_slice() else {
        return Err(Error::invalid_argument(format!("{OP}: x is {}; it must be [.., n, n]", x.describe())));
    };
    if rows != n {
        let message = format!("{OP}: x is {}, {rows} rows of {n}; it must be square", x.describe());
        return Err(Error::invalid_argument(message));
    }
    let iterations = options.iterations.unwrap_or(if options.tolerance.is_some() { 100 } else { 20 });
    if iterations == 0 || iterations > MOST {
        let message = format!("{OP}: iterations is {iterations}; it must be from 1 to {MOST}");
        return Err(Error::invalid_argument(message));
    }
    if let Some(tolerance) = options.tolerance.filter(|tolerance| !(*tolerance >= 0.0 && tolerance.is_finite())) {
        let message = format!("{OP}: tolerance is {tolerance}; it must be finite and not below 0");
        return Err(Error::invalid_argument(message));
    }
    let problem = Sinkhorn { matrices: before.iter().product(), n: *n, iterations, tolerance: options.tolerance };
    let y = tape.output(DType::F32, &x.shape)?;
    if *n <= MAX_SINGLE {
        tape.push(crate::kernels::sinkhorn::sinkhorn(&problem, x.slice(), y.slice()));
    } else {
        let flags = tape.scratch(problem.flags_bytes())?;
        sinkhorn_large(&problem, x.slice(), y.slice(), flags).into_iter().for_each(|dispatch| tape.push(dispatch));
    }
    Ok(y)
}

/// Whether an input is f32.
pub(super) fn check_float(op: &str, what: &str, tensor: &Tensor) -> Result<()> {
    if tensor.dtype == DType::F32 {
        return Ok(());
    }
    Err(Error::invalid_argument(format!("{op}: {what} is {}; it must be f32", tensor.describe())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::caps::Caps;

    #[test]
    fn masks_are_broadcast_or_refused() {
        let mut tape = Tape::new(Caps::baseline());
        let mut floats = |shape: &[u32]| tape.output(DType::F32, shape).unwrap();
        let x = floats(&[2, 3, 4, 5]);
        assert_eq!(mask_of(&x, &floats(&[5])).unwrap().strides, [0, 0, 0, 0]);
        assert_eq!(mask_of(&x, &floats(&[4, 5])).unwrap().strides, [0, 0, 0, 1]);
        assert_eq!(mask_of(&x, &floats(&[2, 1, 4, 5])).unwrap().strides, [0, 4, 0, 1]);
        for wrong in [&[4, 1][..], &[2, 5], &[1, 2, 3, 4, 5], &[]] {
            let mask = floats(wrong);
            let error =
                softmax(&mut Tape::new(Caps::baseline()), &x, Some(&mask), &SoftmaxOptions::default()).unwrap_err();
            assert!(error.message().contains("x is [2, 3, 4, 5] f32 and the mask ["), "{error}");
        }
    }

    #[test]
    fn sinkhorn_takes_squares() {
        let mut tape = Tape::new(Caps::baseline());
        let x = tape.output(DType::F32, &[2, 3, 4]).unwrap();
        let error = sinkhorn(&mut tape, &x, &SinkhornOptions::default()).unwrap_err();
        assert_eq!(error.message(), "sinkhorn: x is [2, 3, 4] f32, 3 rows of 4; it must be square");
        let x = tape.output(DType::F32, &[33, 33]).unwrap();
        let options = SinkhornOptions { iterations: Some(3), ..SinkhornOptions::default() };
        sinkhorn(&mut tape, &x, &options).unwrap();
        assert_eq!(tape.take().1.len(), 6);
    }

    #[test]
    fn norms_name_both_shapes() {
        let mut tape = Tape::new(Caps::baseline());
        let x = tape.output(DType::F32, &[2, 3]).unwrap();
        let weight = tape.output(DType::F32, &[2]).unwrap();
        let others = NormInputs { weight: Some(&weight), ..NormInputs::default() };
        let error = rms_norm(&mut tape, &x, &others, &NormOptions::default()).unwrap_err();
        assert_eq!(error.message(), "rmsNorm: x is [2, 3] f32 and weight [2] f32; weight must be [3] f32");
        let others = NormInputs { residual: Some(&x), ..NormInputs::default() };
        let options = NormOptions { sum: true, ..NormOptions::default() };
        assert_eq!(layer_norm(&mut tape, &x, &others, &options).unwrap().len(), 2);
    }
}
