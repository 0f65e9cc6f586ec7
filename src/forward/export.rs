//! A model's program as numbers, which `js/training/language/program.ts` reads: the lowering to tensor operations that
//! can be differentiated happens there.
//!
//! An operation is its code, its activations, its numbers and its weights. A weight is a number of
//! [`Export::tensors`] counted from 1, 0 for one that is missing; a matrix is the count of its shards, then these.

use super::weights::Weights;
use crate::gguf::GgmlType;
use crate::kernels::layout::{BLOCK, Matrix};
use crate::kernels::spec::BufferId;
use crate::model::program::{
    Activation, Combining, Factor, Keys, NormKind, Op, Operand, Program, TableRow, TensorPart,
};
use crate::model::{ActivationKind, GateKind, RopeStyle, WeightKey};
use crate::{Error, ErrorCode, Result};

/// A program as plain data.
#[derive(Debug, Default)]
pub struct Export {
    /// Widths of activations, rope tables, operations.
    pub numbers: Vec<f64>,
    /// Names of tensors that products read, a line each.
    pub names: String,
    /// Type, rows and columns (padded ones, too) of matrices, and their buffers; of vectors 0 rows.
    pub tensors: Vec<(GgmlType, [u32; 2], BufferId)>,
}

struct Encoder<'a> {
    program: &'a Program,
    weights: &'a Weights,
    made: Export,
}

/// The program of a model that writes text. `frequencies`: those of its rope tables, in turns as fixed point.
///
/// # Errors
/// `unsupported_architecture` for an operation that cannot be trained: says which.
pub fn export(program: &Program, weights: &Weights, frequencies: &[Vec<[u32; 2]>]) -> Result<Export> {
    let mut encoder = Encoder { program, weights, made: Export::default() };
    let widths = program.activations.iter().map(|spec| spec.width as f64);
    encoder.push(&[widths.len() as f64, frequencies.len() as f64]);
    encoder.made.numbers.extend(widths);
    for (table, frequencies) in program.rope_tables.iter().zip(frequencies) {
        let style = f64::from(u8::from(table.style == RopeStyle::SplitHalf));
        encoder.push(&[style, table.scaling.magnitude.into(), frequencies.len() as f64]);
        let turns = |[high, low]: &[u32; 2]| (f64::from(*high) + f64::from(*low) / 2f64.powi(32)) / 2f64.powi(32);
        encoder.made.numbers.extend(frequencies.iter().map(turns));
    }
    for part in [&program.embed].into_iter().chain(&program.layers).chain([&program.head]) {
        encoder.part(part)?;
        encoder.push(&[0.0]);
    }
    Ok(encoder.made)
}

fn refused(what: &str) -> Error {
    Error::new(ErrorCode::UnsupportedArchitecture, format!("training: there are no gradients for {what}"))
}

impl Encoder<'_> {
    fn push(&mut self, numbers: &[f64]) {
        self.made.numbers.extend_from_slice(numbers);
    }

    fn op(&mut self, code: u8, activations: &[Activation], numbers: &[f32]) {
        self.push(&[code.into()]);
        self.made.numbers.extend(activations.iter().map(|of| of.0 as f64));
        self.made.numbers.extend(numbers.iter().map(|&number| f64::from(number)));
    }

    fn tensor(&mut self, ty: GgmlType, shape: [u32; 2], buffer: BufferId) {
        let tensors = &mut self.made.tensors;
        let known = tensors.iter().position(|(_, _, known)| *known == buffer).unwrap_or_else(|| {
            tensors.push((ty, shape, buffer));
            tensors.len() - 1
        });
        self.push(&[known as f64 + 1.0]);
    }

    fn vector(&mut self, key: Option<WeightKey>, len: usize) {
        match key.and_then(|key| self.weights.vectors.get(&key)) {
            Some(slice) => self.tensor(GgmlType::F32, [0, len as u32], slice.buffer),
            None => self.push(&[0.0]),
        }
    }

    fn matrix(&mut self, matrix: &Matrix) {
        self.push(&[matrix.shards.len() as f64]);
        for shard in &matrix.shards {
            self.tensor(matrix.ty, [shard.rows, matrix.cols.next_multiple_of(BLOCK)], shard.buffer);
        }
    }

    fn table(&mut self, key: WeightKey) -> Result<()> {
        let table = self.weights.tables.get(&key).ok_or_else(|| refused("embeddings on the host"))?;
        self.matrix(table);
        Ok(())
    }

    fn part(&mut self, mut ops: &[Op]) -> Result<()> {
        while let Some(op) = ops.first() {
            let linears = self.linears(ops);
            if linears == 0 {
                self.alone(op)?;
            }
            ops = &ops[linears.max(1)..];
        }
        Ok(())
    }

    /// Products in a row that read the same activation, which share matrices: how many.
    fn linears(&mut self, ops: &[Op]) -> usize {
        let Some(Op::Linear { x: input, weight: first, .. }) = ops.first() else { return 0 };
        let linears = ops.iter().map_while(|op| match op {
            Op::Linear { x, weight, y, .. } if x == input => Some((*weight, *y)),
            _ => None,
        });
        let count = linears.clone().count();
        let parts = &self.weights.projections[first];
        self.op(1, &[*input], &[count as f32, parts.len() as f32]);
        for (key, y) in linears {
            let rows = self.program.width(y);
            let whole = TensorPart { tensor: key, of: rows, first: 0, run: rows, every: rows };
            let TensorPart { tensor, of, first, run, every } = *self.program.parts.get(&key).unwrap_or(&whole);
            self.made.names += &tensor.name();
            self.made.names.push('\n');
            self.push(&[y.0, of, first, run, every].map(|number| number as f64));
        }
        for part in parts {
            self.matrix(&part.matrix);
            match part.bias {
                Some(bias) => self.tensor(GgmlType::F32, [0, part.matrix.rows], bias.buffer),
                None => self.push(&[0.0]),
            }
        }
        count
    }

    fn alone(&mut self, op: &Op) -> Result<()> {
        match *op {
            Op::Embed { table, scale, y, .. } => {
                self.op(2, &[y], &[scale]);
                self.table(table)?;
            }
            Op::EmbedPlace { table, row: TableRow::Position(_), y } => {
                self.op(3, &[y], &[]);
                self.table(table)?;
            }
            Op::Norm { x, norm, y } => {
                let numbers = [f32::from(norm.kind == NormKind::Layer), norm.width as f32, norm.eps];
                self.op(4, &[x, y], &numbers);
                self.vector(norm.weight, if norm.is_grouped { self.program.width(x) } else { norm.width });
                self.vector(norm.bias.map(|bias| bias.key), norm.width);
            }
            Op::Rope { x, head_dim, table } => self.op(5, &[x], &[head_dim as f32, table as f32]),
            Op::Attend { q, kv: Some([k, v]), attention: of, keys: Keys::Cached(_), y } if of.sinks.is_none() => {
                let (temperature, span) = of.temperature.map_or((0.0, 1), |of| (of.scale, of.span));
                self.op(6, &[q, k, v, y], &[of.scale, of.soft_cap.unwrap_or(0.0), temperature]);
                let sizes = [of.heads, of.kv_heads, of.head_dim, of.window.unwrap_or(0), span];
                self.push(&sizes.map(|size| size as f64));
            }
            Op::Gate { gate, up, at, kind, y } => {
                self.op(7, &[gate, up, y], &[at as f32, f32::from(kind == GateKind::GeGlu)]);
            }
            Op::Activate { x, kind } => {
                let numbers = match kind {
                    ActivationKind::Gelu => [0.0; 5],
                    ActivationKind::GeluErf => [1.0, 0.0, 0.0, 0.0, 0.0],
                    ActivationKind::Tanh => [2.0, 0.0, 0.0, 0.0, 0.0],
                    ActivationKind::Silu => [3.0, 0.0, 0.0, 0.0, 0.0],
                    ActivationKind::QuickGelu => [4.0, 0.0, 0.0, 0.0, 0.0],
                    ActivationKind::ReluSquared => [5.0, 0.0, 0.0, 0.0, 0.0],
                    ActivationKind::Xielu(of) => [6.0, of.positive, of.negative, of.beta, of.eps],
                    ActivationKind::Clamp(most) => [7.0, most, 0.0, 0.0, 0.0],
                };
                self.op(8, &[x], &numbers);
            }
            Op::Add { x, scale, to } => self.op(9, &[x, to], &[scale]),
            Op::Scale { x, factor: Factor::Number(number) } => self.op(10, &[x], &[number]),
            Op::Scale { x, factor: Factor::Weight(key) } => {
                self.op(11, &[x], &[]);
                self.vector(Some(key), 1);
            }
            Op::SoftCap { x, cap } => self.op(12, &[x], &[cap]),
            Op::Copy { x, y } => self.op(13, &[x, y], &[]),
            Op::Combine { x, kind, with: Operand::Rows(with) } => {
                self.op(14, &[x, with], &[f32::from(kind == Combining::Subtract)]);
            }
            Op::Combine { x, kind, with: Operand::Vector(key) } => {
                self.op(15, &[x], &[f32::from(kind == Combining::Subtract)]);
                self.vector(Some(key), self.program.width(x));
            }
            _ => return Err(refused(unlowered(op))),
        }
        Ok(())
    }
}

/// What a program has that has no lowering.
fn unlowered(op: &Op) -> &'static str {
    match op {
        Op::Route { .. } | Op::ExpertGate { .. } | Op::ExpertDown { .. } | Op::GateRow { .. } => "experts",
        Op::Conv { .. } | Op::Scan { .. } | Op::DeltaNet { .. } => "recurrent layers",
        Op::GateHeads { .. } => "gated heads",
        Op::Attend { kv: None, .. } => "keys of other layers",
        Op::Attend { .. } => "attention sinks",
        _ => "encoders",
    }
}
