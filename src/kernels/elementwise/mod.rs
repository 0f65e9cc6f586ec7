//! Elementwise operations with broadcasting: a chain of up to 16 steps in one dispatch.

mod activation;
#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

pub use activation::activation;

use serde::Deserialize;

use super::spec::{Dispatch, Kernel, KernelSpec, PARAMS, Slice, grid_1d, params, read, write};

/// Inputs of a chain.
pub const MAX_INPUTS: usize = 6;

/// Steps of a chain, and different numbers in one.
pub const MAX_STEPS: usize = 16;

/// Axes of the result.
const MAX_AXES: usize = 5;

/// Threads of a workgroup, each of which computes four elements.
const WG_SIZE: u32 = 256;

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// Elements of the result.
        pub len: u32,
        /// Axes in use.
        pub rank: u32,
        /// Padding.
        pub pad0: u32,
        /// Padding.
        pub pad1: u32,
        /// Two per axis, the innermost first: strides of inputs 0–3; strides of 4 and 5, then the axis's size.
        pub axes: [[u32; 4]; 2 * MAX_AXES],
        /// The numbers among the arguments of steps.
        pub numbers: [[f32; 4]; MAX_STEPS / 4],
    }
}

const OVERRIDES: &[&str] = &[
    "WG_SIZE", "INPUTS", "DTYPES", "ACCESS", "STEP0", "STEP1", "STEP2", "STEP3", "STEP4", "STEP5", "STEP6", "STEP7",
    "STEP8", "STEP9", "STEP10", "STEP11", "STEP12", "STEP13", "STEP14", "STEP15",
];

/// The contract with `shaders/tensor/elementwise.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "elementwise",
    bindings: &[PARAMS, read("in0"), read("in1"), read("in2"), read("in3"), read("in4"), read("in5"), write("y")],
    params: Params::LAYOUT,
    overrides: OVERRIDES,
};

/// The contract with `shaders/model/elementwise_in_place.wgsl`.
pub static IN_PLACE: KernelSpec = KernelSpec {
    kernel_name: "elementwise_in_place",
    bindings: &[PARAMS, read("in1"), read("in2"), read("in3"), read("in4"), read("in5"), write("y")],
    params: Params::LAYOUT,
    overrides: OVERRIDES,
};

/// An elementwise operation. The names are those of the API; the order is that of the shader's opcodes, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Op {
    /// a
    Copy,
    /// −a
    Neg,
    /// |a|
    Abs,
    /// e^a
    Exp,
    /// Natural logarithm.
    Log,
    /// √a
    Sqrt,
    /// 1/√a
    Rsqrt,
    /// sin a, a in radians: within 1e-6 for every finite a.
    Sin,
    /// cos a, likewise.
    Cos,
    /// tanh a
    Tanh,
    /// 1 / (1 + e^−a)
    Sigmoid,
    /// max(a, 0)
    Relu,
    /// a · sigmoid(a)
    Silu,
    /// a/2 · (1 + tanh(√(2/π) (a + 0.044715 a³))): the tanh form (Hendrycks and Gimpel 2016, arXiv 1606.08415)
    Gelu,
    /// a/2 · (1 + erf(a/√2)): the exact form
    GeluErf,
    /// a + b
    Add,
    /// a − b
    Sub,
    /// a · b
    Mul,
    /// a / b
    Div,
    /// The smaller.
    Min,
    /// The larger.
    Max,
    /// a^b; NaN for a negative a and a b that is no integer.
    Pow,
    /// a · b, where b is a number.
    Scale,
    /// 1 if a = b, else 0; so the others.
    Equal,
    /// a ≠ b
    NotEqual,
    /// a < b
    Less,
    /// a ≤ b
    LessEqual,
    /// a > b
    Greater,
    /// a ≥ b
    GreaterEqual,
    /// b if a ≠ 0, else c.
    Where,
}

impl Op {
    /// Every operation, in the order of their codes.
    #[rustfmt::skip]
    pub const ALL: [Self; 30] = [
        Self::Copy, Self::Neg, Self::Abs, Self::Exp, Self::Log, Self::Sqrt, Self::Rsqrt, Self::Sin, Self::Cos,
        Self::Tanh, Self::Sigmoid, Self::Relu, Self::Silu, Self::Gelu, Self::GeluErf, Self::Add, Self::Sub, Self::Mul,
        Self::Div, Self::Min, Self::Max, Self::Pow, Self::Scale, Self::Equal, Self::NotEqual, Self::Less,
        Self::LessEqual, Self::Greater, Self::GreaterEqual, Self::Where,
    ];

    /// The opcode in the shader.
    pub const fn code(self) -> u32 {
        self as u32 + 1
    }

    /// The name in the API.
    pub fn name(self) -> String {
        let name = format!("{self:?}");
        name[..1].to_ascii_lowercase() + &name[1..]
    }

    /// Arguments it takes.
    pub const fn arity(self) -> usize {
        match self.code() {
            1..=15 => 1,
            16..=29 => 2,
            _ => 3,
        }
    }

    /// Whether it gives 1 or 0.
    pub const fn is_comparison(self) -> bool {
        matches!(self.code(), 24..=29)
    }
}

/// An argument of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arg {
    /// The input of this number.
    Input(u32),
    /// The result of this step.
    Step(u32),
    /// The same number for every element.
    Number(f32),
}

/// One step of a chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The operation.
    pub op: Op,
    /// The arguments, as many as the operation takes.
    pub args: Vec<Arg>,
}

impl Step {
    /// The step `op(args)`.
    pub fn new(op: Op, args: &[Arg]) -> Self {
        Self { op, args: args.to_vec() }
    }
}

/// A chain of steps as the shader reads it.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// `STEP0` …
    codes: [u32; MAX_STEPS],
    numbers: Vec<f32>,
    /// Part of variant ids.
    id: String,
}

impl Program {
    /// The chain over this many inputs.
    ///
    /// # Errors
    /// A message that says what is wrong: too many steps or numbers, a wrong count of arguments, or an argument that is
    /// neither an input nor an earlier step.
    pub fn new(steps: &[Step], inputs: usize) -> Result<Self, String> {
        if steps.len() > MAX_STEPS {
            return Err(format!("{} steps, at most {MAX_STEPS} are possible", steps.len()));
        }
        let id = match steps {
            [] => "copy".to_owned(),
            [step] => step.op.name(),
            steps => format!("fused{}", steps.len()),
        };
        let mut program = Self { codes: [0; MAX_STEPS], numbers: Vec::new(), id };
        for (i, Step { op, args }) in steps.iter().enumerate() {
            if args.len() != op.arity() {
                return Err(format!("step {i}: {} takes {} arguments, not {}", op.name(), op.arity(), args.len()));
            }
            let mut code = op.code();
            for (at, &arg) in args.iter().enumerate() {
                let index = program.argument(arg, i, inputs).map_err(|why| format!("step {i}: {why}"))?;
                code |= index << (8 + 6 * at);
            }
            program.codes[i] = code;
        }
        Ok(program)
    }

    /// The argument's number in the shader.
    fn argument(&mut self, arg: Arg, step: usize, inputs: usize) -> Result<u32, String> {
        match arg {
            Arg::Input(input) if (input as usize) < inputs => Ok(input),
            Arg::Input(input) => Err(format!("there is no input {input}, {inputs} are given")),
            Arg::Step(earlier) if (earlier as usize) < step => Ok(8 + earlier),
            Arg::Step(other) => Err(format!("step {other} is not an earlier step")),
            Arg::Number(value) => {
                let same = |number: &f32| number.to_bits() == value.to_bits();
                let index = self.numbers.iter().position(same).unwrap_or_else(|| {
                    self.numbers.push(value);
                    self.numbers.len() - 1
                });
                let fits = index < MAX_STEPS;
                fits.then_some(24 + index as u32).ok_or_else(|| format!("more than {MAX_STEPS} different numbers"))
            }
        }
    }
}

/// How elements are stored, in the order of `shaders/shared/numbers/elements.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// A word.
    F32,
    /// Two to a word.
    F16,
    /// Two to a word.
    BF16,
    /// A word.
    U32,
    /// A word.
    I32,
}

impl Element {
    /// Whether two elements share a word.
    pub const fn is_half(self) -> bool {
        matches!(self, Self::F16 | Self::BF16)
    }

    /// Part of variant ids.
    pub const fn id(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::U32 => "u32",
            Self::I32 => "i32",
        }
    }
}

/// An input: where, what, and its stride in elements along each axis of the result, 0 where it is broadcast.
#[derive(Debug, Clone)]
pub struct Input {
    /// The elements.
    pub slice: Slice,
    /// How they are stored.
    pub element: Element,
    /// As many as the result has axes, the outermost first.
    pub strides: Vec<u32>,
}

/// The result: where, what, and its sizes.
#[derive(Debug, Clone)]
pub struct Output<'a> {
    /// The elements, contiguous.
    pub slice: Slice,
    /// How they are stored.
    pub element: Element,
    /// Elements along each axis, the outermost first; at most five.
    pub sizes: &'a [u32],
}

/// `y = program(inputs)`. With `in_place`, y is also input 0, whose slice is not bound.
pub fn elementwise(program: &Program, inputs: &[Input], y: &Output, in_place: bool, dummy: Slice) -> Dispatch {
    debug_assert!((1..=MAX_INPUTS).contains(&inputs.len()) && y.sizes.len() <= MAX_AXES);
    let axes = merged_axes(inputs, y.sizes);
    let dtypes = inputs.iter().enumerate().map(|(i, input)| (input.element as u32) << (4 * i));
    let dtypes = dtypes.sum::<u32>() | (y.element as u32) << 24;
    let access = (0..inputs.len()).map(|i| access(&axes, i) << (2 * i)).sum::<u32>();
    let numbers = [WG_SIZE, inputs.len() as u32, dtypes, access];
    let values = numbers.iter().chain(&program.codes).map(|&value| f64::from(value));
    let constants: Vec<_> = OVERRIDES.iter().copied().zip(values).collect();
    let kernel = Kernel::new(if in_place { &IN_PLACE } else { &SPEC }, &constants);
    let sink = if y.element.is_half() { "elementwise_halves" } else { "elementwise_words" };
    let chain = match program.codes.iter().filter(|&&code| code != 0).count() {
        0 | 1 => "elementwise_single",
        2..=4 => "elementwise_few",
        5..=8 => "elementwise_some",
        _ => "elementwise_chain",
    };
    let kernel = kernel.import("sink", sink).import("chain", chain).named(&program.id).named(y.element.id());
    let mut buffers: Vec<Slice> = inputs.iter().map(|input| input.slice).collect();
    buffers.resize(MAX_INPUTS, dummy);
    buffers.push(y.slice);
    let buffers = &buffers[usize::from(in_place)..];
    let len: u32 = y.sizes.iter().product();
    Dispatch::new(kernel, &parameters(len, &axes, &program.numbers), buffers, grid_1d(len.div_ceil(4 * WG_SIZE)))
}

fn parameters(len: u32, axes: &[Axis], numbers: &[f32]) -> Params {
    let mut params = Params { len, rank: axes.len() as u32, ..Params::default() };
    for (at, &Axis { size, strides: [a, b, c, d, e, f] }) in axes.iter().enumerate() {
        params.axes[2 * at] = [a, b, c, d];
        params.axes[2 * at + 1] = [e, f, size, 0];
    }
    for (at, &number) in numbers.iter().enumerate() {
        params.numbers[at / 4][at % 4] = number;
    }
    params
}

/// An axis of the result: its size, and its stride in each input.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Axis {
    size: u32,
    strides: [u32; MAX_INPUTS],
}

/// The axes of the result, the innermost first: axes of one element are dropped, and neighbouring axes are merged where
/// the strides of every input allow it.
fn merged_axes(inputs: &[Input], sizes: &[u32]) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::new();
    for (at, &size) in sizes.iter().enumerate().rev().filter(|(_, size)| **size > 1) {
        let mut strides = [0; MAX_INPUTS];
        inputs.iter().zip(&mut strides).for_each(|(input, stride)| *stride = input.strides[at]);
        let joins = |inner: &&mut Axis| strides.iter().zip(inner.strides).all(|(&s, of)| s == of * inner.size);
        match axes.last_mut().filter(joins) {
            Some(inner) => inner.size *= size,
            None => axes.push(Axis { size, strides }),
        }
    }
    axes
}

/// `AS_OUTPUT`, `BY_QUAD` or `BY_ELEMENT` of the shader.
fn access(axes: &[Axis], input: usize) -> u32 {
    let mut stride = 1;
    let as_output = axes.iter().all(|axis| {
        let contiguous = axis.strides[input] == stride;
        stride *= axis.size;
        contiguous
    });
    if as_output {
        return 0;
    }
    let Some((inner, outer)) = axes.split_first() else { return 0 };
    let one = outer.iter().all(|axis| axis.strides[input] == 0) && inner.strides[input] == 0;
    let aligned = outer.iter().all(|axis| axis.strides[input].is_multiple_of(4)) && inner.strides[input] == 1;
    let quads = inner.size.is_multiple_of(4) && (aligned || inner.strides[input] == 0);
    if one || quads { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::spec::BufferId;

    fn input(strides: &[u32]) -> Input {
        Input { slice: BufferId(1).into(), element: Element::F32, strides: strides.to_vec() }
    }

    #[test]
    fn axes_are_merged_where_every_input_allows_it() {
        let whole = merged_axes(&[input(&[12, 4, 1]), input(&[12, 4, 1])], &[2, 3, 4]);
        assert_eq!(whole, [Axis { size: 24, strides: [1, 1, 0, 0, 0, 0] }]);
        let bias = merged_axes(&[input(&[12, 4, 1]), input(&[0, 0, 1])], &[2, 3, 4]);
        assert_eq!(bias.iter().map(|axis| axis.size).collect::<Vec<_>>(), [4, 6]);
        assert_eq!([access(&bias, 0), access(&bias, 1)], [0, 1]);
        let odd = merged_axes(&[input(&[15, 5, 1]), input(&[0, 0, 1]), input(&[0, 0, 0])], &[2, 3, 5]);
        assert_eq!([access(&odd, 0), access(&odd, 1), access(&odd, 2)], [0, 2, 1]);
    }

    #[test]
    fn wrong_chains_are_named() {
        let wrong = |steps: &[Step]| Program::new(steps, 2).unwrap_err();
        assert_eq!(wrong(&[Step::new(Op::Add, &[Arg::Input(0)])]), "step 0: add takes 2 arguments, not 1");
        assert_eq!(wrong(&[Step::new(Op::Neg, &[Arg::Input(2)])]), "step 0: there is no input 2, 2 are given");
        assert_eq!(wrong(&[Step::new(Op::Neg, &[Arg::Step(0)])]), "step 0: step 0 is not an earlier step");
        assert!(wrong(&vec![Step::new(Op::Neg, &[Arg::Input(0)]); 17]).contains("17 steps"));
    }
}
