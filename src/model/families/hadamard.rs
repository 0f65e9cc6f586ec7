//! Rotations before the matrices that a file has rotated, in any family.

use std::collections::HashMap;

use super::super::program::{Activation, GateUp, Op, Program};
use super::super::roles::EMBEDDING;
use super::super::{ModelConfig, Rotation, Rotations, Ssm, WeightKey, unrotated};
use crate::{Error, ErrorCode, Result};

/// The program with a rotation of what each named matrix multiplies, once for neighbours with the same input, and of
/// the embedding where its table is rotated.
pub(super) fn with_rotations(mut program: Program, config: &ModelConfig) -> Program {
    let Some(rotations) = &config.rotations else { return program };
    let next = program.next.take().map(|next| with_rotations(*next, config).into());
    let mut writer = Writer { rotations, config, program: program.clone() };
    let (embed, head) = (writer.part(&program.embed), writer.part(&program.head));
    let layers = program.layers.iter().map(|ops| writer.part(ops)).collect();
    Program { embed, layers, head, next, ..writer.program }
}

/// Checks that all named matrices multiply rotated inputs.
///
/// # Errors
/// `unsupported_architecture` for one that no product reads, and for a gate and an up of experts of which one is named.
pub fn check(program: &Program, config: &ModelConfig) -> Result<()> {
    let Some(rotations) = &config.rotations else { return Ok(()) };
    let mut rotated: HashMap<String, bool> = HashMap::new();
    for ops in program.all_parts() {
        for (at, op) in ops.iter().enumerate() {
            let is_rotated = op.clone().product_mut().is_some_and(|x| unrotated(ops, at, *x) != *x);
            for name in names(program, op) {
                *rotated.entry(name).or_insert(true) &= is_rotated;
            }
        }
    }
    if let Some(layer) = program.layers.iter().position(|ops| !reads_one_input(ops)) {
        let message = format!("layer {layer}: q, k and v are rotated in part");
        return Err(Error::new(ErrorCode::UnsupportedArchitecture, message));
    }
    let is_rotated = |name: &String| rotated.get(name) == Some(&true);
    match rotations.names.iter().find(|name| !is_rotated(name)) {
        None => Ok(()),
        Some(name) => {
            let message =
                format!("tensor {name}: no product of architecture {} is rotated for it", config.architecture);
            Err(Error::new(ErrorCode::UnsupportedArchitecture, message))
        }
    }
}

/// Whether products of one input lie side by side, as attention wants q, k and v: not where rotations part them.
fn reads_one_input(ops: &[Op]) -> bool {
    let of = |at: usize| if let Op::Linear { x, .. } = ops[at] { Some((x, unrotated(ops, at, x))) } else { None };
    let written = |y: &Activation| (0..ops.len()).rfind(|&at| ops[at].writes() == *y && of(at).is_some()).and_then(of);
    ops.iter().all(|op| match op {
        Op::Attend { q, kv: Some([k, v]), .. } => {
            let found: Vec<_> = [q, k, v].into_iter().filter_map(written).collect();
            found.iter().all(|(x, before)| found.iter().all(|(other, of)| before != of || x == other))
        }
        _ => true,
    })
}

/// The names of the matrices that an operation multiplies.
fn names(program: &Program, op: &Op) -> Vec<String> {
    let keys = match *op {
        Op::Linear { weight, .. } | Op::ExpertDown { weight, .. } => vec![weight],
        Op::ExpertGate { gate_up: GateUp::Pair { weights, .. }, .. } => weights.to_vec(),
        Op::ExpertGate { gate_up: GateUp::Fused(key) | GateUp::Alone(key), .. } => vec![key],
        _ => Vec::new(),
    };
    keys.into_iter().map(|key| tensor_of(program, key).name()).collect()
}

fn tensor_of(program: &Program, key: WeightKey) -> WeightKey {
    program.parts.get(&key).map_or(key, |part| part.tensor)
}

struct Writer<'a> {
    rotations: &'a Rotations,
    config: &'a ModelConfig,
    program: Program,
}

impl Writer<'_> {
    /// Operations with the rotations of their inputs.
    fn part(&mut self, ops: &[Op]) -> Vec<Op> {
        let mut made = Vec::with_capacity(ops.len());
        // What was rotated last, and its rotation.
        let mut last: Option<[Activation; 2]> = None;
        for op in ops {
            let mut op = op.clone();
            let names = names(&self.program, &op);
            if let Some(x) = op.product_mut()
                && names.iter().all(|name| self.rotations.names.contains(name))
            {
                let known = last.filter(|[of, _]| of == x);
                let [_, y] = known.unwrap_or_else(|| [*x, self.program.activation("rotated", self.program.width(*x))]);
                if known.is_none() {
                    let rotation = self.rotation(&names[0], *x).into();
                    made.push(Op::Hadamard { x: *x, rotation, y });
                }
                last = Some([*x, y]);
                *x = y;
            }
            last = last.filter(|[of, _]| *of != op.writes());
            let table = if let Op::Embed { table, y, .. } = op { Some((table, y)) } else { None };
            made.push(op);
            if let Some((_, y)) = table.filter(|(table, _)| self.rotations.has_table && table.name() == EMBEDDING) {
                let of = self.rotations.of(self.program.width(y));
                let rotation = Rotation { is_inverse: true, tokens: Some(self.config.vocab), ..of }.into();
                made.push(Op::Hadamard { x: y, rotation, y });
            }
        }
        made
    }

    /// What an input of this matrix is rotated by. Experts of a token have theirs side by side.
    fn rotation(&self, name: &str, x: Activation) -> Rotation {
        let width = self.program.width(x);
        let of = match self.config.experts.experts.used {
            used if name.contains("ffn_down_exps") => width / used.max(1),
            _ => width,
        };
        let Ssm { heads, groups, .. } = self.config.ssm.unwrap_or_default();
        let is_regrouped = self.rotations.is_regrouped && name.contains(".ssm_out.") && heads > groups && groups > 0;
        let regrouped = is_regrouped.then(|| [heads / groups, groups, width / heads]);
        Rotation { regrouped, ..self.rotations.of(of) }
    }
}
