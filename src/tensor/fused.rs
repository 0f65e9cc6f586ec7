//! Fused steps: a norm before a product, an activation after it. A table decides whether one dispatch computes them all
//! or each step has its own.

use super::matmul::{MatmulOptions, Product};
use super::quantised::Vectors;
use super::{DType, Tape, Tensor, quantised};
use crate::kernels::layer_norm::{Norm, norm as norm_rows};
use crate::kernels::mat_vec::Epilogue;
use crate::kernels::swiglu::{Gate, gated};
use crate::{Error, Result};

/// Options of [`gate_up`].
#[derive(Debug, Clone, Default)]
pub struct GateUpOptions {
    /// `swiglu` or `geglu`.
    pub activation: Gate,
    /// Added under the root of the norm; 1e-5 if it is not given.
    pub eps: Option<f32>,
}

/// Options of [`project`].
#[derive(Debug, Clone, Default)]
pub struct ProjectOptions {
    /// Added under the root of the norm; 1e-5 if it is not given.
    pub eps: Option<f32>,
}

/// Options of [`gated_linear_unit`].
#[derive(Debug, Clone, Default)]
pub struct GatedOptions {
    /// `swiglu` or `geglu`.
    pub activation: Gate,
}

/// How steps around a product are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// By `mat_vec`, which does all of them.
    Fused,
    /// Norm, product and activation one after the other.
    Steps,
}

/// A row of the table: the first whose conditions hold is taken.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// For these activations, or none.
    pub gates: &'static [Option<Gate>],
    /// For matrices in blocks only.
    pub blocks: bool,
    /// For at most this many rows of x.
    pub max_rows: u32,
    /// The choice.
    pub path: Path,
}

/// Which path computes what. The last row applies to everything.
pub static RULES: &[Rule] = &[
    Rule { gates: &[None, Some(Gate::SwiGlu)], blocks: true, max_rows: quantised::MAX_VECTORS, path: Path::Fused },
    Rule {
        gates: &[None, Some(Gate::SwiGlu), Some(Gate::GeGlu)],
        blocks: false,
        max_rows: u32::MAX,
        path: Path::Steps,
    },
];

/// The path for `rows` rows of x times a matrix in blocks or not, with this activation after it.
pub fn choose(gate: Option<Gate>, blocks: bool, rows: u32) -> Path {
    let fits = |rule: &&Rule| rule.gates.contains(&gate) && (blocks || !rule.blocks) && rows <= rule.max_rows;
    RULES.iter().find(fits).map_or(Path::Steps, |rule| rule.path)
}

/// `y = norm(x) · Wᵀ + bias`: x `[.., k]` f32, w `[n, k]` (f32, f16, bf16 or GGUF blocks), the weight of the RMS norm
/// `[k]` f32, bias `[n]` f32 → y `[.., n]` f32. Without that weight x stays as it is.
///
/// # Errors
/// `invalid_argument` where shapes, types or options do not fit.
pub fn project(
    tape: &mut Tape,
    x: &Tensor,
    w: &Tensor,
    norm: Option<&Tensor>,
    bias: Option<&Tensor>,
    options: &ProjectOptions,
) -> Result<Tensor> {
    let steps = Steps::new("project", (x, w), (norm, options.eps), bias, None)?;
    steps.record(tape, steps.choose())
}

/// `y = activation(n · Gᵀ) ∘ (n · Uᵀ)` with `n = norm(x)`: x `[.., k]` f32, w `[2n, k]` with the rows of G before those
/// of U (f32, f16, bf16 or GGUF blocks), the weight of the RMS norm `[k]` f32 → y `[.., n]` f32. Without that weight x
/// stays as it is.
///
/// # Errors
/// `invalid_argument` where shapes, types or options do not fit.
pub fn gate_up(
    tape: &mut Tape,
    x: &Tensor,
    w: &Tensor,
    norm: Option<&Tensor>,
    options: &GateUpOptions,
) -> Result<Tensor> {
    let steps = Steps::new("gateUp", (x, w), (norm, options.eps), None, Some(options.activation))?;
    steps.record(tape, steps.choose())
}

/// `y = activation(gate) ∘ up` for x `[.., 2n]` f32 with gate before up → y `[.., n]` f32.
///
/// # Errors
/// `invalid_argument` where x does not fit.
pub fn gated_linear_unit(tape: &mut Tape, x: &Tensor, options: &GatedOptions) -> Result<Tensor> {
    let (rows, cols) = super::rows_and_cols(&x.shape);
    let Some((last, leading)) = x.shape.split_last().filter(|(last, _)| last.is_multiple_of(2)) else {
        return Err(Error::invalid_argument(format!("gated: x is {}; its last axis must be even", x.describe())));
    };
    super::norm::check_float("gated", "x", x)?;
    let y = tape.output(DType::F32, &[leading, &[last / 2]].concat())?;
    tape.push(gated(options.activation, [rows, cols / 2], x.slice(), y.slice()));
    Ok(y)
}

/// Norm, product and activation of inputs that fit.
#[derive(Debug)]
pub struct Steps<'a> {
    x: &'a Tensor,
    w: &'a Tensor,
    norm: Option<(&'a Tensor, f32)>,
    bias: Option<&'a Tensor>,
    gate: Option<Gate>,
    shape: Vec<u32>,
    rows: u32,
}

impl<'a> Steps<'a> {
    /// Checks the inputs of the operation `op`: x with w, the norm's weight and eps, bias and activation.
    ///
    /// # Errors
    /// `invalid_argument` where they do not fit.
    pub fn new(
        op: &str,
        (x, w): (&'a Tensor, &'a Tensor),
        (norm, eps): (Option<&'a Tensor>, Option<f32>),
        bias: Option<&'a Tensor>,
        gate: Option<Gate>,
    ) -> Result<Self> {
        let message = |why: String| format!("{op}: x is {} and w {}; {why}", x.describe(), w.describe());
        let unfit = |why: String| Err(Error::invalid_argument(message(why)));
        let halves = 1 + u32::from(gate.is_some());
        let (&[w_rows, k], Some((&last, leading))) = (w.shape.as_slice(), x.shape.split_last()) else {
            return unfit("w must have two axes, and x two or more".into());
        };
        if leading.is_empty() || last != k || !w_rows.is_multiple_of(halves) {
            let rows = if gate.is_some() { "2n" } else { "n" };
            return unfit(format!("x must be [.., k] and w [{rows}, k]"));
        }
        super::norm::check_float(op, "x", x)?;
        for (input, what, len) in [(norm, "the norm's weight", k), (bias, "bias", w_rows)] {
            if let Some(tensor) = input.filter(|tensor| tensor.dtype != DType::F32 || tensor.shape != [len]) {
                return unfit(format!("{what} is {}, it must be [{len}] f32", tensor.describe()));
            }
        }
        let eps = eps.unwrap_or(1e-5);
        if !(eps >= 0.0 && eps.is_finite()) {
            return unfit(format!("eps is {eps}, it must be finite and not below 0"));
        }
        let norm = norm.map(|weight| (weight, eps));
        Ok(Self {
            x,
            w,
            norm,
            bias,
            gate,
            shape: [leading, &[w_rows / halves]].concat(),
            rows: leading.iter().product(),
        })
    }

    /// The choice of the table.
    pub fn choose(&self) -> Path {
        choose(self.gate, matches!(self.w.dtype, DType::Quantised(_)), self.rows)
    }

    /// Records them on `path`, which is what [`Self::choose`] says or `Steps`; the tensor they make.
    ///
    /// # Errors
    /// `limit_exceeded` where a tensor is too large for the device.
    pub fn record(&self, tape: &mut Tape, path: Path) -> Result<Tensor> {
        let y = tape.output(DType::F32, &self.shape)?;
        if path == Path::Fused {
            let epilogue = self.gate.map_or(Epilogue::Store, Epilogue::Gate);
            let norm = self.norm.map(|(weight, eps)| (weight.slice(), eps));
            let vectors = Vectors { norm, bias: self.bias.map(Tensor::slice), epilogue };
            quantised::vectors(tape, (self.rows, self.x.slice()), self.w, &vectors, y.slice())?;
            return Ok(y);
        }
        let normed = self.normed(tape)?;
        let plain = MatmulOptions { transpose_b: true, ..MatmulOptions::default() };
        let product = Product::new(normed.as_ref().unwrap_or(self.x), self.w, [self.bias, None], &plain)?;
        let Some(gate) = self.gate else {
            product.record(tape, y.slice())?;
            return Ok(y);
        };
        let width = self.w.shape[0] / 2;
        let both = tape.scratch(8 * u64::from(self.rows) * u64::from(width))?;
        product.record(tape, both)?;
        tape.push(gated(gate, [self.rows, width], both, y.slice()));
        Ok(y)
    }

    /// x after its norm, for this tape only.
    fn normed(&self, tape: &mut Tape) -> Result<Option<Tensor>> {
        let Some((weight, eps)) = self.norm else { return Ok(None) };
        let (rows, width) = super::rows_and_cols(&self.x.shape);
        let to = tape.scratch(self.x.dtype.bytes(&self.x.shape))?;
        let unused = tape.scratch(16)?;
        let (weight, none) = (Some(weight.slice()), None);
        let norm = Norm {
            centred: false,
            rows,
            width,
            eps,
            weight_offset: 0.0,
            residual: none,
            weight,
            bias: none,
            sum: none,
        };
        let dispatch = norm_rows(tape.caps(), &norm, [self.x.slice(), to], tape.dummy(), unused);
        tape.push(dispatch);
        Ok(Some(Tensor { buffer: to.buffer, ..self.x.clone() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gguf::GgmlType;
    use crate::kernels::caps::Caps;

    #[test]
    fn the_table_chooses() {
        assert_eq!(choose(Some(Gate::SwiGlu), true, 8), Path::Fused);
        assert_eq!(choose(None, true, 8), Path::Fused);
        assert_eq!(choose(Some(Gate::SwiGlu), true, 9), Path::Steps);
        assert_eq!(choose(Some(Gate::SwiGlu), false, 1), Path::Steps);
        assert_eq!(choose(Some(Gate::GeGlu), true, 1), Path::Steps);
    }

    #[test]
    fn wrong_shapes_are_named() {
        let mut tape = Tape::new(Caps::baseline());
        let x = tape.output(DType::F32, &[2, 64]).unwrap();
        let odd = tape.output(DType::Quantised(GgmlType::Q8_0), &[3, 64]).unwrap();
        let options = GateUpOptions::default();
        let message = gate_up(&mut tape, &x, &odd, None, &options).unwrap_err();
        assert_eq!(message.message(), "gateUp: x is [2, 64] f32 and w [3, 64] q8_0; x must be [.., k] and w [2n, k]");
        let w = tape.output(DType::F16, &[10, 64]).unwrap();
        assert_eq!(gate_up(&mut tape, &x, &w, None, &options).unwrap().shape, [2, 5]);
        let plain = ProjectOptions::default();
        assert_eq!(project(&mut tape, &x, &odd, None, None, &plain).unwrap().shape, [2, 3]);
        let message = project(&mut tape, &x, &odd, Some(&w), None, &plain).unwrap_err();
        assert!(message.message().ends_with("the norm's weight is [10, 64] f16, it must be [64] f32"), "{message}");
    }
}
