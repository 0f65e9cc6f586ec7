//! The first half of a gated feed-forward: one product for gate and up, and the activation.

use serde::Deserialize;

use super::matmul::{MatmulOptions, Product};
use super::{DType, Tape, Tensor, quantised};
use crate::kernels::mat_vec::Epilogue;
use crate::kernels::swiglu::{Gate, Params, gated};
use crate::{Error, Result};

/// Options of [`gate_up`].
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct GateUpOptions {
    /// `swiglu` or `geglu`.
    pub activation: Gate,
}

/// How a product with gate and up is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// `mat_vec` with the activation in its epilogue.
    Fused,
    /// The product, then the activation.
    Steps,
}

/// A row of the table: the first whose conditions hold is taken.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// For this activation.
    pub gate: Option<Gate>,
    /// For matrices in blocks only.
    pub blocks: bool,
    /// For at most this many rows of x.
    pub max_rows: u32,
    /// The choice.
    pub path: Path,
}

/// Which path computes what. The last row holds for everything.
pub static RULES: &[Rule] = &[
    Rule { gate: Some(Gate::SwiGlu), blocks: true, max_rows: quantised::MAX_VECTORS, path: Path::Fused },
    Rule { gate: None, blocks: false, max_rows: u32::MAX, path: Path::Steps },
];

/// The path for `rows` rows of x times a matrix that lies in blocks or not.
pub fn choose(gate: Gate, blocks: bool, rows: u32) -> Path {
    let fits =
        |rule: &&Rule| rule.gate.is_none_or(|only| only == gate) && (blocks || !rule.blocks) && rows <= rule.max_rows;
    RULES.iter().find(fits).map_or(Path::Steps, |rule| rule.path)
}

/// `y = activation(x · Gᵀ) ∘ (x · Uᵀ)`: x `[.., k]` f32, w `[2n, k]` with the rows of G before those of U (f32, f16,
/// bf16 or GGUF blocks) → y `[.., n]` f32.
///
/// # Errors
/// `invalid_argument` where shapes or types do not fit.
pub fn gate_up(tape: &mut Tape, x: &Tensor, w: &Tensor, options: &GateUpOptions) -> Result<Tensor> {
    let rows = super::rows_and_cols(&x.shape).0;
    let path = choose(options.activation, matches!(w.dtype, DType::Quantised(_)), rows);
    gate_up_by(path, tape, x, w, options)
}

/// The same on a given path, which must be one that [`choose`] gives for such tensors, or `Steps`.
///
/// # Errors
/// As of [`gate_up`].
pub fn gate_up_by(path: Path, tape: &mut Tape, x: &Tensor, w: &Tensor, options: &GateUpOptions) -> Result<Tensor> {
    let message = |why: &str| format!("gateUp: x is {} and w {}; {why}", x.describe(), w.describe());
    let unfit = |why: &str| Err(Error::invalid_argument(message(why)));
    let (&[w_rows, k], &[ref leading @ .., last]) = (w.shape.as_slice(), x.shape.as_slice()) else {
        return unfit("w must have two axes, and x two or more");
    };
    if leading.is_empty() || last != k || !w_rows.is_multiple_of(2) {
        return unfit("x must be [.., k] and w [2n, k]");
    }
    if x.dtype != DType::F32 {
        return unfit("x must be f32");
    }
    let plain = MatmulOptions { transpose_b: true, ..MatmulOptions::default() };
    let product = Product::new(x, w, [None, None], &plain)?;
    let (rows, width) = (leading.iter().product(), w_rows / 2);
    let y = tape.output(DType::F32, &[leading, &[width]].concat())?;
    if path == Path::Fused {
        quantised::vectors(tape, (rows, x.slice()), w, (None, Epilogue::SwiGlu), y.slice())?;
        return Ok(y);
    }
    let both = tape.scratch(4 * u64::from(rows) * u64::from(w_rows))?;
    product.record(tape, both)?;
    tape.push(gated(options.activation, Params { rows, width }, both, y.slice()));
    Ok(y)
}

/// `y = activation(gate) ∘ up` for x `[.., 2n]` f32 with gate before up → y `[.., n]` f32.
///
/// # Errors
/// `invalid_argument` where x does not fit.
pub fn gated_linear_unit(tape: &mut Tape, x: &Tensor, options: &GateUpOptions) -> Result<Tensor> {
    let (rows, cols) = super::rows_and_cols(&x.shape);
    if x.dtype != DType::F32 || x.shape.is_empty() || !cols.is_multiple_of(2) {
        let message = format!("gated: x is {}; it must be f32 with an even last axis", x.describe());
        return Err(Error::invalid_argument(message));
    }
    let mut shape = x.shape.clone();
    shape.pop();
    shape.push(cols / 2);
    let y = tape.output(DType::F32, &shape)?;
    tape.push(gated(options.activation, Params { rows, width: cols / 2 }, x.slice(), y.slice()));
    Ok(y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gguf::GgmlType;
    use crate::kernels::caps::Caps;

    #[test]
    fn the_table_chooses() {
        assert_eq!(choose(Gate::SwiGlu, true, 8), Path::Fused);
        assert_eq!(choose(Gate::SwiGlu, true, 9), Path::Steps);
        assert_eq!(choose(Gate::SwiGlu, false, 1), Path::Steps);
        assert_eq!(choose(Gate::GeGlu, true, 1), Path::Steps);
    }

    #[test]
    fn wrong_shapes_are_named() {
        let mut tape = Tape::new(Caps::baseline());
        let x = tape.output(DType::F32, &[2, 64]).unwrap();
        let odd = tape.output(DType::Quantised(GgmlType::Q8_0), &[3, 64]).unwrap();
        let options = GateUpOptions::default();
        let message = gate_up(&mut tape, &x, &odd, &options).unwrap_err();
        assert_eq!(message.message(), "gateUp: x is [2, 64] f32 and w [3, 64] q8_0; x must be [.., k] and w [2n, k]");
        let w = tape.output(DType::F16, &[10, 64]).unwrap();
        assert_eq!(gate_up(&mut tape, &x, &w, &options).unwrap().shape, [2, 5]);
    }
}
