//! Operation name → function: the table through which JavaScript calls operations.

use super::attention::attention;
use super::fused::{gate_up, gated_linear_unit, project};
use super::grouped::matmul_grouped;
use super::kv_cache::{attention_decode, kv_write};
use super::matmul::matmul;
use super::norm::{NormInputs, layer_norm, rms_norm, sinkhorn, softmax};
use super::options::{FromFields, NoOptions, Value};
use super::quantised::from_blocks;
use super::reduce::{argmax, reduce, top_k};
use super::reshape::reshape;
use super::rope::{rope, rope_table};
use super::scan::{ScanInputs, cumsum, selective_scan};
use super::{Tape, Tensor, elementwise, gather, movement};
use crate::{Error, Result};

/// The inputs of a call, with the operation's name for messages.
struct Inputs<'a> {
    op: &'a str,
    tensors: &'a [Option<&'a Tensor>],
}

impl<'a> Inputs<'a> {
    /// The input at `index`, which the operation cannot do without.
    fn need(&self, index: usize) -> Result<&'a Tensor> {
        self.maybe(index).ok_or_else(|| {
            let count = self.tensors.iter().flatten().count();
            Error::invalid_argument(format!("{}: input {index} is missing, {count} are given", self.op))
        })
    }

    /// The input at `index`, if it is given.
    fn maybe(&self, index: usize) -> Option<&'a Tensor> {
        self.tensors.get(index).copied().flatten()
    }

    /// All inputs.
    fn all(&self) -> Result<Vec<&'a Tensor>> {
        (0..self.tensors.len()).map(|index| self.need(index)).collect()
    }
}

/// Records the operation `name` with its options; the tensors it makes.
///
/// # Errors
/// `invalid_argument` for an unknown name, wrong options, and inputs that do not fit.
pub fn run(tape: &mut Tape, name: &str, inputs: &[Option<&Tensor>], options: Value) -> Result<Vec<Tensor>> {
    let inputs = Inputs { op: name, tensors: inputs };
    match name {
        "attention" => {
            let options = decode(name, options)?;
            one(attention(tape, inputs.need(0)?, inputs.need(1)?, inputs.need(2)?, inputs.maybe(3), &options))
        }
        "binary" => one(elementwise::run_op(tape, &[inputs.need(0)?, inputs.need(1)?], &decode(name, options)?)),
        "cast" => one(elementwise::run_cast(tape, inputs.need(0)?, &decode(name, options)?)),
        "concat" => one(movement::concat(tape, &inputs.all()?, &decode(name, options)?)),
        "embedding" => {
            let NoOptions {} = decode(name, options)?;
            one(gather::embedding(tape, inputs.need(0)?, inputs.need(1)?))
        }
        "expand" => one(movement::expand(tape, inputs.need(0)?, &decode(name, options)?)),
        "fuse" => one(elementwise::run_fuse(tape, &inputs.all()?, &decode(name, options)?)),
        "gateUp" => one(gate_up(tape, inputs.need(0)?, inputs.need(1)?, inputs.maybe(2), &decode(name, options)?)),
        "gated" => one(gated_linear_unit(tape, inputs.need(0)?, &decode(name, options)?)),
        "attentionDecode" => {
            let options = decode(name, options)?;
            one(attention_decode(tape, inputs.need(0)?, inputs.need(1)?, inputs.need(2)?, &options))
        }
        "kvWrite" => one(kv_write(tape, inputs.need(0)?, inputs.need(1)?, &decode(name, options)?)),
        "matmul" => {
            let options = decode(name, options)?;
            one(matmul(tape, inputs.need(0)?, inputs.need(1)?, inputs.maybe(2), inputs.maybe(3), &options))
        }
        "matmulGrouped" => {
            let NoOptions {} = decode(name, options)?;
            one(matmul_grouped(tape, inputs.need(0)?, inputs.need(1)?, inputs.need(2)?, inputs.maybe(3)))
        }
        "project" => {
            let options = decode(name, options)?;
            one(project(tape, inputs.need(0)?, inputs.need(1)?, inputs.maybe(2), inputs.maybe(3), &options))
        }
        "narrow" => one(movement::narrow(tape, inputs.need(0)?, &decode(name, options)?)),
        "reshape" => one(reshape(tape, inputs.need(0)?, &decode(name, options)?)),
        "rope" => one(rope(tape, inputs.need(0)?, inputs.maybe(1), &decode(name, options)?)),
        "ropeTable" => one(rope_table(tape, &decode(name, options)?)),
        "quantised" => one(from_blocks(tape, inputs.need(0)?, &decode(name, options)?)),
        "layerNorm" => {
            let others = norm_inputs(&inputs);
            layer_norm(tape, inputs.need(0)?, &others, &decode(name, options)?)
        }
        "rmsNorm" => {
            let others = norm_inputs(&inputs);
            rms_norm(tape, inputs.need(0)?, &others, &decode(name, options)?)
        }
        "reduce" => one(reduce(tape, inputs.need(0)?, &decode(name, options)?)),
        "argmax" => one(argmax(tape, inputs.need(0)?, &decode(name, options)?)),
        "topK" => top_k(tape, inputs.need(0)?, &decode(name, options)?).map(Vec::from),
        "cumsum" => one(cumsum(tape, inputs.need(0)?, &decode(name, options)?)),
        "selectiveScan" => {
            let NoOptions {} = decode(name, options)?;
            let scan = ScanInputs {
                x: inputs.need(0)?,
                delta: inputs.need(1)?,
                a: inputs.need(2)?,
                b: inputs.need(3)?,
                c: inputs.need(4)?,
                d: inputs.maybe(5),
                state: inputs.maybe(6),
            };
            selective_scan(tape, &scan).map(Vec::from)
        }
        "sinkhorn" => one(sinkhorn(tape, inputs.need(0)?, &decode(name, options)?)),
        "softmax" => one(softmax(tape, inputs.need(0)?, inputs.maybe(1), &decode(name, options)?)),
        "scale" => one(elementwise::run_scale(tape, inputs.need(0)?, &decode(name, options)?)),
        "scatterAdd" => {
            let options = decode(name, options)?;
            one(gather::scatter_add(tape, inputs.need(0)?, inputs.need(1)?, inputs.need(2)?, &options))
        }
        "select" => {
            let NoOptions {} = decode(name, options)?;
            one(elementwise::select(tape, inputs.need(0)?, inputs.need(1)?, inputs.need(2)?))
        }
        "take" => one(gather::take(tape, inputs.need(0)?, inputs.need(1)?, &decode(name, options)?)),
        "transpose" => one(movement::transpose(tape, inputs.need(0)?, &decode(name, options)?)),
        "unary" => one(elementwise::run_op(tape, &[inputs.need(0)?], &decode(name, options)?)),
        _ => Err(Error::invalid_argument(format!("there is no operation '{name}'"))),
    }
}

/// x, weight, bias, residual: all but the first.
fn norm_inputs<'a>(inputs: &Inputs<'a>) -> NormInputs<'a> {
    NormInputs { weight: inputs.maybe(1), bias: inputs.maybe(2), residual: inputs.maybe(3) }
}

/// The one tensor that most operations make.
fn one(tensor: Result<Tensor>) -> Result<Vec<Tensor>> {
    tensor.map(|tensor| vec![tensor])
}

/// The operation's options; a wrong one is named.
fn decode<T: FromFields>(op: &str, options: Value) -> Result<T> {
    options.read().map_err(|error| Error::invalid_argument(format!("{op}: {error}")))
}
