//! A model's program as numbers, which `js/training/language/program.ts` reads: the lowering to tensor operations that
//! can be differentiated happens there.
//!
//! An operation is its code, the activations that it reads, the one that it writes, [`NUMBERS`] numbers as the bits of
//! f32, and the count of its weights, which follow; code 0 ends a layer. A matrix is the count of its shards, then
//! these; a shard or a vector is a number of [`Export::tensors`] counted from 1, 0 for one that is missing. Products
//! that share matrices are several operations 1, then the stacks of their matrices, each an operation 2.

use super::weights::Weights;
use crate::gguf::GgmlType;
use crate::kernels::layout::{BLOCK, Matrix};
use crate::kernels::spec::BufferId;
use crate::model::program::{Combining, Factor, Keys, NormKind, Op, Operand, Program, TableRow, TensorPart};
use crate::model::{ActivationKind, GateKind, OpWeight, RopeStyle};

/// A program as plain data.
#[derive(Debug, Default)]
pub struct Export {
    /// Widths of activations, rope tables, operations. Numbers that are no integers are the bits of f32.
    pub words: Vec<u32>,
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
/// It ends with the code of the first operation that has no lowering.
pub fn export(program: &Program, weights: &Weights, frequencies: &[Vec<[u32; 2]>]) -> Export {
    let mut encoder = Encoder { program, weights, made: Export::default() };
    encoder.push(&[program.activations.len() as u32, frequencies.len() as u32]);
    program.activations.iter().for_each(|spec| encoder.push(&[spec.width as u32]));
    for (table, frequencies) in program.rope_tables.iter().zip(frequencies) {
        let style = u32::from(table.style == RopeStyle::SplitHalf);
        encoder.push(&[style, table.scaling.magnitude.to_bits(), frequencies.len() as u32]);
        encoder.push(frequencies.as_flattened());
    }
    for part in program.parts() {
        if !encoder.part(part) {
            break;
        }
        encoder.push(&[0]);
    }
    encoder.made
}

impl Encoder<'_> {
    #[inline(never)]
    fn push(&mut self, words: &[u32]) {
        self.made.words.extend_from_slice(words);
    }

    #[inline(never)]
    fn tensor(&mut self, ty: GgmlType, shape: [u32; 2], buffer: BufferId) {
        self.made.tensors.push((ty, shape, buffer));
        self.push(&[self.made.tensors.len() as u32]);
    }

    #[inline(never)]
    fn matrix(&mut self, matrix: &Matrix) {
        self.push(&[matrix.shards.len() as u32]);
        for shard in &matrix.shards {
            self.tensor(matrix.ty, [shard.rows, matrix.cols.next_multiple_of(BLOCK)], shard.buffer);
        }
    }

    /// A table, or values. A table that is on the host has no shards.
    fn weight(&mut self, weight: &OpWeight) {
        if let Some(table) = self.weights.tables.get(&weight.key) {
            self.matrix(table);
        } else if let Some(slice) = self.weights.vectors.get(&weight.key) {
            let len: usize = weight.dims.iter().product();
            self.tensor(GgmlType::F32, [0, len as u32], slice.buffer);
        } else {
            self.push(&[0]);
        }
    }

    /// False where an operation has no lowering.
    fn part(&mut self, mut ops: &[Op]) -> bool {
        while let Some(op) = ops.first() {
            let linears = self.linears(ops);
            if linears == 0 && !self.alone(op) {
                return false;
            }
            ops = &ops[linears.max(1)..];
        }
        true
    }

    /// Products in a row that read the same activation, which share matrices: how many.
    fn linears(&mut self, ops: &[Op]) -> usize {
        let Some(Op::Linear { x: input, weight: first, .. }) = ops.first() else { return 0 };
        let mut count = 0;
        while let Some(Op::Linear { x, weight, y, .. }) = ops.get(count).filter(|op| op.reads() == [*input]) {
            let rows = self.program.width(*y);
            let whole = TensorPart { tensor: *weight, of: rows, first: 0, run: rows, every: rows };
            let TensorPart { tensor, of, first, run, every } = *self.program.parts.get(weight).unwrap_or(&whole);
            self.made.names += &tensor.name();
            self.made.names.push('\n');
            self.push(&[1, x.0, y.0, of, first, run, every].map(|number| number as u32));
            count += 1;
        }
        for part in self.weights.projections.get(first).into_iter().flatten() {
            self.push(&[2]);
            self.matrix(&part.matrix);
            match part.bias {
                Some(bias) => self.tensor(GgmlType::F32, [0, part.matrix.rows], bias.buffer),
                None => self.push(&[0]),
            }
        }
        count
    }

    fn alone(&mut self, op: &Op) -> bool {
        let (code, numbers) = numbers_of(op);
        self.push(&[code]);
        op.reads().into_iter().chain([op.writes()]).for_each(|of| self.push(&[of.0 as u32]));
        self.push(&numbers.map(f32::to_bits));
        let weights = op.weights(self.program);
        self.push(&[weights.len() as u32]);
        weights.iter().for_each(|weight| self.weight(weight));
        code < UNLOWERED
    }
}

/// The first code of operations that have no lowering.
const UNLOWERED: u32 = 16;

/// Numbers of an operation.
const NUMBERS: usize = 8;

/// The code of an operation, and what it is besides activations and weights.
fn numbers_of(op: &Op) -> (u32, [f32; NUMBERS]) {
    let (code, own) = match *op {
        Op::Embed { scale, .. } => (3, vec![scale]),
        Op::EmbedPlace { row: TableRow::Position(_), .. } => (4, Vec::new()),
        Op::Norm { norm, .. } => (5, vec![f32::from(norm.kind == NormKind::Layer), norm.width as f32, norm.eps]),
        Op::Rope { head_dim, table, .. } => (6, vec![head_dim as f32, table as f32]),
        Op::Attend { kv: Some(_), attention: ref of, keys: Keys::Cached(_), .. }
            if of.sinks.is_none() && of.distances.is_none() =>
        {
            let (temperature, span) = of.temperature.map_or((0.0, 1), |of| (of.scale, of.span));
            let [head_dim, window, span] = [of.head_dim, of.window.unwrap_or(0), span].map(|size| size as f32);
            (7, vec![of.scale, of.soft_cap.unwrap_or(0.0), temperature, head_dim, window, span])
        }
        Op::Gate { at, kind, .. } => (8, vec![at as f32, f32::from(kind == GateKind::GeGlu)]),
        Op::Activate { kind, .. } => (9, numbers_of_activation(kind).to_vec()),
        Op::Add { scale, .. } => (10, vec![scale]),
        Op::Scale { factor: Factor::Number(number), .. } => (11, vec![number]),
        Op::Scale { .. } => (11, Vec::new()),
        Op::SoftCap { cap, .. } => (12, vec![cap]),
        Op::Copy { .. } => (13, Vec::new()),
        Op::Combine { kind, with, .. } => {
            let code = if matches!(with, Operand::Rows(_)) { 14 } else { 15 };
            (code, vec![f32::from(kind == Combining::Subtract)])
        }
        Op::Route { .. } | Op::ExpertGate { .. } | Op::ExpertDown { .. } | Op::GateRow { .. } => (16, Vec::new()),
        Op::Conv { .. } | Op::Scan { .. } | Op::ChannelScan { .. } | Op::DeltaNet { .. } | Op::Wkv { .. } => {
            (17, Vec::new())
        }
        Op::GateHeads { .. } => (18, Vec::new()),
        Op::Attend { kv: None, .. } => (19, Vec::new()),
        Op::Attend { .. } => (20, Vec::new()),
        Op::Streams { .. } => (22, Vec::new()),
        Op::Hadamard { .. } => (23, Vec::new()),
        _ => (21, Vec::new()),
    };
    let mut numbers = [0.0; NUMBERS];
    numbers[..own.len()].copy_from_slice(&own);
    (code, numbers)
}

/// The number of a function and its own numbers.
fn numbers_of_activation(kind: ActivationKind) -> [f32; 5] {
    match kind {
        ActivationKind::Gelu => [0.0; 5],
        ActivationKind::GeluErf => [1.0, 0.0, 0.0, 0.0, 0.0],
        ActivationKind::Tanh => [2.0, 0.0, 0.0, 0.0, 0.0],
        ActivationKind::Silu => [3.0, 0.0, 0.0, 0.0, 0.0],
        ActivationKind::QuickGelu => [4.0, 0.0, 0.0, 0.0, 0.0],
        ActivationKind::ReluSquared => [5.0, 0.0, 0.0, 0.0, 0.0],
        ActivationKind::Xielu(of) => [6.0, of.positive, of.negative, of.beta, of.eps],
        ActivationKind::Relu => [8.0, 0.0, 0.0, 0.0, 0.0],
        ActivationKind::Sigmoid => [9.0, 0.0, 0.0, 0.0, 0.0],
        // Encoders have these alone, which are not exported.
        ActivationKind::Sin | ActivationKind::Cos => [10.0, 0.0, 0.0, 0.0, 0.0],
        ActivationKind::Clamp(most) => [7.0, most, 0.0, 0.0, 0.0],
    }
}
