//! Recurrences along an axis: running sums and the selective scan.
//!
//! | operation | inputs | options | gives |
//! |---|---|---|---|
//! | `cumsum` | x | `{axis?, exclusive?}` | f32 |
//! | `selectiveScan` | x, delta, a, b, c, d?, state? | `{}` | y and the state, f32 |
//!
//! All inputs are f32.

use super::elementwise::unary;
use super::norm::check_float;
use super::reduce::view_of;
use super::{DType, Tape, Tensor, describe};
use crate::kernels::elementwise::Op;
use crate::kernels::selective_scan::SelectiveScan;
use crate::{Error, Result};

/// Options of [`cumsum`].
#[derive(Debug, Clone, Default)]
pub struct CumsumOptions {
    /// Along which axis; the last if it is not given. A negative one counts from the last.
    pub axis: Option<i32>,
    /// Exclusive sums: of the values before each one, without it.
    pub exclusive: bool,
}

/// Running sums of x, f32, along an axis → f32, shape of x.
///
/// # Errors
/// `invalid_argument` where types or options do not fit.
pub fn cumsum(tape: &mut Tape, x: &Tensor, options: &CumsumOptions) -> Result<Tensor> {
    check_float("cumsum", "x", x)?;
    let (_, view) = view_of("cumsum", x, options.axis.unwrap_or(-1))?;
    let y = tape.output(DType::F32, &x.shape)?;
    let dispatch = crate::kernels::cumsum::cumsum(tape.caps(), view, options.exclusive, x.slice(), y.slice());
    tape.push(dispatch);
    Ok(y)
}

/// The inputs of a [`selective_scan`], all f32.
#[derive(Debug, Clone, Copy)]
pub struct ScanInputs<'a> {
    /// `[batch, length, channels]`.
    pub x: &'a Tensor,
    /// `[batch, length, channels]`: the steps Δ, above 0.
    pub delta: &'a Tensor,
    /// `[channels, n]`, below 0.
    pub a: &'a Tensor,
    /// `[batch, length, n]`.
    pub b: &'a Tensor,
    /// `[batch, length, n]`.
    pub c: &'a Tensor,
    /// `[channels]`; no `D x` if it is missing.
    pub d: Option<&'a Tensor>,
    /// `[batch, channels, n]`: the state before the first step; 0 if it is missing.
    pub state: Option<&'a Tensor>,
}

/// Mamba's recurrence (Gu and Dao 2023, <https://arxiv.org/abs/2312.00752>): `h = exp(Δ A) h + Δ B x` and
/// `y = C h + D x` at every step → y `[batch, length, channels]` and the state after the last step,
/// `[batch, channels, n]`, with which the sequence can be continued.
///
/// # Errors
/// `invalid_argument` where shapes or types do not fit.
pub fn selective_scan(tape: &mut Tape, inputs: &ScanInputs) -> Result<[Tensor; 2]> {
    let &ScanInputs { x, delta, a, b, c, d, state } = inputs;
    let (&[batch, length, channels], &[_, n]) = (x.shape.as_slice(), a.shape.as_slice()) else {
        let pair = format!("x is {} and a {}", x.describe(), a.describe());
        let message = format!("selectiveScan: {pair}; they must be [batch, length, channels] and [channels, n]");
        return Err(Error::invalid_argument(message));
    };
    check_scan(inputs, [batch, length, channels], n)?;
    let after = match state {
        Some(state) => unary(tape, Op::Copy, state)?,
        None => tape.output(DType::F32, &[batch, channels, n])?,
    };
    let y = tape.output(DType::F32, &x.shape)?;
    let problem = SelectiveScan {
        shape: [batch, length, channels],
        n,
        x: x.slice(),
        delta: delta.slice(),
        a: a.slice(),
        b: b.slice(),
        c: c.slice(),
        d: d.map(Tensor::slice),
        state: after.slice(),
        started: state.is_some(),
        y: y.slice(),
    };
    let dispatch = crate::kernels::selective_scan::selective_scan(&problem, tape.dummy());
    tape.push(dispatch);
    Ok([y, after])
}

/// Whether the inputs have the shapes that x and a require.
fn check_scan(inputs: &ScanInputs, [batch, length, channels]: [u32; 3], n: u32) -> Result<()> {
    let &ScanInputs { x, delta, a, b, c, d, state } = inputs;
    let fits = |what: &str, tensor: &Tensor, shape: &[u32]| {
        if tensor.dtype == DType::F32 && tensor.shape == shape {
            return Ok(());
        }
        let given = format!("x is {}, a {} and {what} {}", x.describe(), a.describe(), tensor.describe());
        let message = format!("selectiveScan: {given}; {what} must be {}", describe(DType::F32, shape));
        Err(Error::invalid_argument(message))
    };
    fits("x", x, &[batch, length, channels])?;
    fits("delta", delta, &[batch, length, channels])?;
    fits("a", a, &[channels, n])?;
    fits("b", b, &[batch, length, n])?;
    fits("c", c, &[batch, length, n])?;
    d.map_or(Ok(()), |d| fits("d", d, &[channels]))?;
    state.map_or(Ok(()), |state| fits("state", state, &[batch, channels, n]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::caps::Caps;

    #[test]
    fn scans_name_what_does_not_fit() {
        let mut tape = Tape::new(Caps::baseline());
        let mut floats = |shape: &[u32]| tape.output(DType::F32, shape).unwrap();
        let (x, a, b) = (floats(&[1, 5, 4]), floats(&[4, 3]), floats(&[1, 5, 3]));
        let inputs = ScanInputs { x: &x, delta: &x, a: &a, b: &b, c: &x, d: None, state: None };
        let error = selective_scan(&mut tape, &inputs).unwrap_err();
        let expected = "selectiveScan: x is [1, 5, 4] f32, a [4, 3] f32 and c [1, 5, 4] f32; c must be [1, 5, 3] f32";
        assert_eq!(error.message(), expected);
        assert!(selective_scan(&mut tape, &ScanInputs { c: &b, ..inputs }).is_ok());
    }
}
