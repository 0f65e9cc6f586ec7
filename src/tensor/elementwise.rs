//! Elementwise operations: one by one, or a chain of up to 16 in one dispatch.
//!
//! Operations of the table in [`op`](super::op), with their options as JSON (optional fields have a
//! `?`):
//!
//! | operation | inputs | options |
//! |---|---|---|
//! | `unary` | x | `{op: Op, inPlace?: boolean}` with one of the operations of one argument |
//! | `binary` | a, b | `{op: Op, inPlace?: boolean}` with one of the operations of two arguments |
//! | `scale` | x | `{by: number, inPlace?: boolean}` |
//! | `select` | condition, a, b | `{}`: a where the condition is not 0, else b |
//! | `cast` | x | `{dtype: "f32" \| "f16" \| "bf16" \| "u32" \| "i32"}` |
//! | `fuse` | 1 to 6 tensors | `{steps: Step[], dtype?: DType, inPlace?: boolean}` |
//!
//! A step is `{op: Op, args: Arg[]}`. An argument is a number, `"in0"` … `"in5"` for an input, or `"s0"` … `"s14"` for
//! the result of an earlier step; the last step is the result. For example, `silu(a) * b + 0.5` is
//!
//! ```json
//! {"steps": [{"op": "silu", "args": ["in0"]},
//!            {"op": "mul", "args": ["s0", "in1"]},
//!            {"op": "add", "args": ["s1", 0.5]}]}
//! ```
//!
//! The names of operations are those of [`Op`]:
//!
//! - one argument: `copy`, `neg`, `abs`, `exp`, `log`, `sqrt`, `rsqrt`, `sin`, `cos`, `tanh`, `sigmoid`, `relu`,
//!   `silu`, `gelu` (tanh form), `geluErf` (exact);
//! - two: `add`, `sub`, `mul`, `div`, `min`, `max`, `pow`, `scale` (the same as `mul`), and the comparisons `equal`,
//!   `notEqual`, `less`, `lessEqual`, `greater`, `greaterEqual`, which give 1 or 0;
//! - three: `where` (condition, a, b).
//!
//! Shapes broadcast as in NumPy: aligned at the last axis, an axis of 1 is repeated. All arithmetic is f32; u32 and
//! i32 inputs are converted, which is exact up to 2^24 (`copy` alone, and `cast` to the same type, keep every bit). The
//! result is of type `dtype`; without it f16 or bf16 where all inputs are of that type and the last step is no
//! comparison, else f32. With `inPlace` the result goes into the first input, whose shape and type it must have, and
//! that tensor is returned.

use super::{DType, Tape, Tensor};
pub use crate::kernels::elementwise::{Arg, Op, Step};
use crate::kernels::elementwise::{Element, Input, MAX_INPUTS, Output, Program, elementwise};
use crate::{Error, Result};

/// Options of `unary` and `binary`.
#[derive(Debug, Clone)]
pub struct OpOptions {
    /// The operation.
    pub op: Op,
    /// Whether the result goes into the first input.
    pub in_place: bool,
}

/// Options of `scale`.
#[derive(Debug, Clone)]
pub struct ScaleOptions {
    /// The factor.
    pub by: f32,
    /// Whether the result goes into the first input.
    pub in_place: bool,
}

/// Options of `cast`.
#[derive(Debug, Clone)]
pub struct CastOptions {
    /// Name of the new type.
    pub dtype: String,
}

/// Options of `fuse`.
#[derive(Debug, Clone)]
pub struct FuseOptions {
    /// The steps, the last of which is the result.
    pub steps: Vec<Step>,
    /// Name of the result's type.
    pub dtype: Option<String>,
    /// Whether the result goes into the first input.
    pub in_place: bool,
}

/// `op(x)`, of the shape of x.
///
/// # Errors
/// `invalid_argument` for an operation of more arguments and for blocks of a GGUF type.
pub fn unary(tape: &mut Tape, op: Op, x: &Tensor) -> Result<Tensor> {
    Chain::single(op, &[x])?.run(tape, None)
}

/// `op(a, b)`, broadcast.
///
/// # Errors
/// `invalid_argument` for an operation of other than two arguments and for shapes or types that do not fit.
pub fn binary(tape: &mut Tape, op: Op, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    Chain::single(op, &[a, b])?.run(tape, None)
}

/// a where the condition is not 0, else b; broadcast.
///
/// # Errors
/// `invalid_argument` for shapes or types that do not fit.
pub fn select(tape: &mut Tape, condition: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let dtype = common_dtype(&[a, b]);
    Chain::single(Op::Where, &[condition, a, b])?.run(tape, Some(dtype))
}

/// `x · by`.
///
/// # Errors
/// `invalid_argument` for blocks of a GGUF type.
pub fn scale(tape: &mut Tape, x: &Tensor, by: f32) -> Result<Tensor> {
    Chain::scale(x, by).run(tape, None)
}

/// x as another type: floats to the nearest, ties to even; to integers, the fraction is dropped and the value clamped
/// to the range. To the same type it is a copy, bit for bit.
///
/// # Errors
/// `invalid_argument` from or to blocks of a GGUF type.
pub fn cast(tape: &mut Tape, x: &Tensor, dtype: DType) -> Result<Tensor> {
    Chain { name: "cast".into(), inputs: vec![x], steps: Vec::new() }.run(tape, Some(dtype))
}

/// The last step of a chain, in one dispatch; see the head of this module.
///
/// # Errors
/// `invalid_argument` for a wrong chain, and for shapes or types that do not fit.
pub fn fuse(tape: &mut Tape, inputs: &[&Tensor], steps: &[Step], dtype: Option<DType>) -> Result<Tensor> {
    Chain { name: "fuse".into(), inputs: inputs.to_vec(), steps: steps.to_vec() }.run(tape, dtype)
}

/// [`fuse`] into the first input, which is returned.
///
/// # Errors
/// As [`fuse`], and `invalid_argument` where the result is of another shape than the first input.
pub fn fuse_in_place(tape: &mut Tape, inputs: &[&Tensor], steps: &[Step]) -> Result<Tensor> {
    Chain { name: "fuse".into(), inputs: inputs.to_vec(), steps: steps.to_vec() }.run_in_place(tape)
}

/// `unary` and `binary` of the table.
pub(super) fn run_op(tape: &mut Tape, inputs: &[&Tensor], options: &OpOptions) -> Result<Tensor> {
    let chain = Chain::single(options.op, inputs)?;
    if options.in_place { chain.run_in_place(tape) } else { chain.run(tape, None) }
}

/// `scale` of the table.
pub(super) fn run_scale(tape: &mut Tape, x: &Tensor, options: &ScaleOptions) -> Result<Tensor> {
    let chain = Chain::scale(x, options.by);
    if options.in_place { chain.run_in_place(tape) } else { chain.run(tape, None) }
}

/// `cast` of the table.
pub(super) fn run_cast(tape: &mut Tape, x: &Tensor, options: &CastOptions) -> Result<Tensor> {
    cast(tape, x, dtype_named("cast", &options.dtype)?)
}

/// `fuse` of the table.
pub(super) fn run_fuse(tape: &mut Tape, inputs: &[&Tensor], options: &FuseOptions) -> Result<Tensor> {
    let dtype = options.dtype.as_deref().map(|name| dtype_named("fuse", name)).transpose()?;
    match (options.in_place, dtype) {
        (false, dtype) => fuse(tape, inputs, &options.steps, dtype),
        (true, Some(dtype)) if inputs.first().is_some_and(|x| x.dtype != dtype) => {
            Err(Error::invalid_argument(format!("fuse: the result is {}, but goes into another type", dtype.name())))
        }
        (true, _) => fuse_in_place(tape, inputs, &options.steps),
    }
}

fn dtype_named(op: &str, name: &str) -> Result<DType> {
    DType::named(name).ok_or_else(|| Error::invalid_argument(format!("{op}: there is no type '{name}'")))
}

/// How the kernels of movement and arithmetic store this type.
pub(super) fn element(dtype: DType) -> Option<Element> {
    match dtype {
        DType::F32 => Some(Element::F32),
        DType::F16 => Some(Element::F16),
        DType::BF16 => Some(Element::BF16),
        DType::U32 => Some(Element::U32),
        DType::I32 => Some(Element::I32),
        DType::Quantised(_) => None,
    }
}

/// The type of a result of these inputs: theirs if it is the same 16-bit type, else f32.
fn common_dtype(inputs: &[&Tensor]) -> DType {
    match inputs.first().map(|x| x.dtype) {
        Some(half @ (DType::F16 | DType::BF16)) if inputs.iter().all(|x| x.dtype == half) => half,
        _ => DType::F32,
    }
}

/// The shape that these broadcast to.
fn broadcast_shape(inputs: &[&Tensor]) -> Option<Vec<u32>> {
    let rank = inputs.iter().map(|x| x.shape.len()).max()?;
    let mut shape = vec![1; rank];
    for x in inputs {
        for (size, &own) in shape[rank - x.shape.len()..].iter_mut().zip(&x.shape) {
            match (*size, own) {
                (size, own) if size == own || own == 1 => {}
                (1, own) => *size = own,
                _ => return None,
            }
        }
    }
    Some(shape)
}

/// Strides of a contiguous tensor along the axes of the shape that it is broadcast to.
pub(super) fn broadcast_strides(own: &[u32], shape: &[u32]) -> Vec<u32> {
    let mut strides = vec![0; shape.len()];
    let mut stride = 1;
    for (to, &size) in strides.iter_mut().rev().zip(own.iter().rev()) {
        *to = if size == 1 { 0 } else { stride };
        stride *= size;
    }
    strides
}

/// A chain with its inputs, on the way to a dispatch.
struct Chain<'a> {
    name: String,
    inputs: Vec<&'a Tensor>,
    steps: Vec<Step>,
}

impl<'a> Chain<'a> {
    /// One operation on all inputs. A copy has no step at all, so that every bit is kept.
    fn single(op: Op, inputs: &[&'a Tensor]) -> Result<Self> {
        if op.arity() != inputs.len() {
            let (name, arity, count) = (op.name(), op.arity(), inputs.len());
            return Err(Error::invalid_argument(format!("{name}: takes {arity} tensors, {count} are given")));
        }
        let args: Vec<_> = (0..inputs.len() as u32).map(Arg::Input).collect();
        let steps = if op == Op::Copy { Vec::new() } else { vec![Step::new(op, &args)] };
        Ok(Self { name: op.name(), inputs: inputs.to_vec(), steps })
    }

    fn scale(x: &'a Tensor, by: f32) -> Self {
        Self {
            name: "scale".into(),
            inputs: vec![x],
            steps: vec![Step::new(Op::Scale, &[Arg::Input(0), Arg::Number(by)])],
        }
    }

    fn error(&self, why: impl std::fmt::Display) -> Error {
        let inputs: Vec<_> = self.inputs.iter().map(|x| x.describe()).collect();
        Error::invalid_argument(format!("{}: inputs are {}; {why}", self.name, inputs.join(" and ")))
    }

    /// Type of the result where none is asked for.
    fn dtype(&self) -> DType {
        match self.steps.last() {
            Some(last) if last.op.is_comparison() => DType::F32,
            None if !self.inputs.is_empty() => self.inputs[0].dtype,
            _ => common_dtype(&self.inputs),
        }
    }

    /// Shape of the result.
    fn shape(&self) -> Result<Vec<u32>> {
        if self.inputs.is_empty() || self.inputs.len() > MAX_INPUTS {
            return Err(self.error(format!("{} are given, 1 to {MAX_INPUTS} are possible", self.inputs.len())));
        }
        broadcast_shape(&self.inputs).ok_or_else(|| self.error("these shapes do not broadcast"))
    }

    /// The parts of a dispatch.
    fn prepare(&self, shape: &[u32], dtype: DType) -> Result<(Program, Vec<Input>, Element)> {
        let program = Program::new(&self.steps, self.inputs.len()).map_err(|why| self.error(why))?;
        let unfit = || self.error(format!("the result is {}: blocks have no elementwise operations", dtype.name()));
        let input = |x: &&Tensor| {
            let strides = broadcast_strides(&x.shape, shape);
            Some(Input { slice: x.slice(), element: element(x.dtype)?, strides })
        };
        let inputs = self.inputs.iter().map(input).collect::<Option<_>>().ok_or_else(unfit)?;
        Ok((program, inputs, element(dtype).ok_or_else(unfit)?))
    }

    fn run(&self, tape: &mut Tape, dtype: Option<DType>) -> Result<Tensor> {
        let shape = self.shape()?;
        let dtype = dtype.unwrap_or_else(|| self.dtype());
        let (program, inputs, element) = self.prepare(&shape, dtype)?;
        let y = tape.output(dtype, &shape)?;
        let output = Output { slice: y.slice(), element, sizes: &shape };
        tape.push(elementwise(&program, &inputs, &output, false, tape.dummy()));
        Ok(y)
    }

    fn run_in_place(mut self, tape: &mut Tape) -> Result<Tensor> {
        let shape = self.shape()?;
        let y = self.inputs[0].clone();
        if y.shape != shape {
            return Err(self.error(format!("the result is {shape:?} and does not fit the first input")));
        }
        self.join_first()?;
        let (program, inputs, element) = self.prepare(&shape, y.dtype)?;
        let output = Output { slice: y.slice(), element, sizes: &shape };
        tape.push(elementwise(&program, &inputs, &output, true, tape.dummy()));
        Ok(y)
    }

    /// Removes inputs that are the same tensor as the first: a buffer that is written cannot be bound twice.
    fn join_first(&mut self) -> Result<()> {
        let first = self.inputs[0];
        if self.inputs.iter().any(|x| x.buffer == first.buffer && *x != first) {
            return Err(self.error("the first input is given again in another shape"));
        }
        let kept: Vec<usize> =
            (0..self.inputs.len()).filter(|&i| i == 0 || self.inputs[i].buffer != first.buffer).collect();
        let place = |input: u32| kept.iter().position(|&i| i == input as usize).unwrap_or(0) as u32;
        for arg in self.steps.iter_mut().flat_map(|step| &mut step.args) {
            match arg {
                Arg::Input(input) if (*input as usize) < self.inputs.len() => *input = place(*input),
                _ => {}
            }
        }
        self.inputs = kept.iter().map(|&i| self.inputs[i]).collect();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::caps::Caps;
    use crate::tensor::op::run;
    use crate::tensor::options::Value;

    fn tensors(tape: &mut Tape) -> [Tensor; 3] {
        let mut make = |dtype, shape: &[u32]| tape.output(dtype, shape).unwrap();
        [make(DType::F32, &[2, 3]), make(DType::F16, &[4, 5]), make(DType::F16, &[5])]
    }

    fn result(tape: &mut Tape, name: &str, inputs: &[&Tensor], options: serde_json::Value) -> Result<Tensor> {
        let inputs: Vec<_> = inputs.iter().map(|x| Some(*x)).collect();
        run(tape, name, &inputs, Value::from(options)).map(|tensors| tensors[0].clone())
    }

    #[test]
    fn the_table_takes_the_documented_form() {
        let mut tape = Tape::new(Caps::baseline());
        let [a, b, c] = tensors(&mut tape);
        let steps = serde_json::json!({"steps": [
            {"op": "silu", "args": ["in0"]}, {"op": "mul", "args": ["s0", "in1"]}, {"op": "add", "args": ["s1", 2]},
        ]});
        let y = result(&mut tape, "fuse", &[&b, &c], steps).unwrap();
        assert_eq!((y.dtype, &y.shape[..]), (DType::F16, &[4, 5][..]));
        let y = result(&mut tape, "binary", &[&b, &c], serde_json::json!({"op": "lessEqual"})).unwrap();
        assert_eq!(y.dtype, DType::F32);
        let y = result(&mut tape, "scale", &[&a], serde_json::json!({"by": 0.5, "inPlace": true})).unwrap();
        assert_eq!(y, a);
        let y = result(&mut tape, "cast", &[&a], serde_json::json!({"dtype": "bf16"})).unwrap();
        assert_eq!(y.describe(), "[2, 3] bf16");
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let mut tape = Tape::new(Caps::baseline());
        let [a, b, c] = tensors(&mut tape);
        tape.take();
        let mut message = |name, inputs: &[&Tensor], options| {
            result(&mut tape, name, inputs, options).unwrap_err().message().to_owned()
        };
        let add = serde_json::json!({"op": "add"});
        assert_eq!(
            message("binary", &[&a, &b], add),
            "add: inputs are [2, 3] f32 and [4, 5] f16; these shapes do not broadcast"
        );
        let in_place = serde_json::json!({"op": "mul", "inPlace": true});
        assert!(message("binary", &[&c, &b], in_place).contains("[4, 5] and does not fit the first input"));
        assert!(message("unary", &[&a], serde_json::json!({"op": "sine"})).contains("sine"));
        assert!(message("unary", &[&a], serde_json::json!({"op": "add"})).contains("takes 2 tensors, 1 are given"));
        let step = |arg: &str| serde_json::json!({"steps": [{"op": "neg", "args": [arg]}]});
        assert!(message("fuse", &[&a], step("s0")).contains("not an earlier step"));
        assert!(message("fuse", &[&a], step("in1")).contains("there is no input 1, 1 are given"));
        assert!(message("fuse", &[&a], step("x")).contains("argument 'x'"));
        assert!(message("cast", &[&a], serde_json::json!({"dtype": "f64"})).contains("no type 'f64'"));
        assert!(tape.take().0.is_empty());
    }
}
