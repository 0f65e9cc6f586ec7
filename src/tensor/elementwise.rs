//! Elementwise operations: one by one, or a chain of up to 16 in one dispatch.
//!
//! Operations of the table in [`op`](super::op), with their options as the JavaScript face hands them over (names as
//! in JSON; fields that may be left out carry a `?`):
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
//! the result of an earlier step; the last step is the result. So `silu(a) * b + 0.5` is
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

use serde::{Deserialize, Deserializer};

use crate::kernels::elementwise::{Arg, Op};

/// One step of a chain.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Step {
    /// What to compute.
    pub op: Op,
    /// Of what: as many as the operation takes.
    pub args: Vec<Arg>,
}

impl Step {
    /// The step `op(args)`.
    pub fn new(op: Op, args: &[Arg]) -> Self {
        Self { op, args: args.to_vec() }
    }
}

/// Options of `unary` and `binary`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OpOptions {
    /// The operation.
    pub op: Op,
    /// Whether the result goes into the first input.
    #[serde(default)]
    pub in_place: bool,
}

/// Options of `scale`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScaleOptions {
    /// The factor.
    pub by: f32,
    /// Whether the result goes into the first input.
    #[serde(default)]
    pub in_place: bool,
}

/// Options of `cast`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CastOptions {
    /// Name of the new type.
    pub dtype: String,
}

/// Options of `fuse`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FuseOptions {
    /// The steps, the last of which is the result.
    pub steps: Vec<Step>,
    /// Name of the result's type.
    #[serde(default)]
    pub dtype: Option<String>,
    /// Whether the result goes into the first input.
    #[serde(default)]
    pub in_place: bool,
}

/// An argument as JSON has it.
#[derive(Deserialize)]
#[serde(untagged)]
enum RawArg {
    Number(f32),
    Name(String),
}

impl<'de> Deserialize<'de> for Arg {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = match RawArg::deserialize(deserializer)? {
            RawArg::Number(value) => return Ok(Self::Number(value)),
            RawArg::Name(name) => name,
        };
        let index = |prefix: &str| name.strip_prefix(prefix).and_then(|index| index.parse().ok());
        let input = index("in").map(Self::Input);
        input.or_else(|| index("s").map(Self::Step)).ok_or_else(|| {
            serde::de::Error::custom(format!("argument '{name}' is neither a number nor like 'in0' or 's0'"))
        })
    }
}
