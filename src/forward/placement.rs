//! Decides where every tensor of the file goes on the GPU.
//!
//! Matrices that one dispatch reads together are stacked by rows: products of one activation that stand side by side in
//! the program, as far as their types agree. A matrix larger than the device's binding limit is cut by rows into
//! shards. Vectors become f32.

use std::collections::HashMap;

use super::decode::in_a_row;
use super::experts::ExpertPart;
use super::fusion::{DECODE, Input, OfHeads, Step, steps};
use super::plan::Plan;
use super::row_cache::may_cache_rows;
use super::weights::{Part, Placement, RowRun, Target, VectorRun, Weights};
use crate::gguf::{GgmlType, TensorInfo};
use crate::kernels::attention::{MAX_HEAD_DIM, MAX_KEY_DIM};
use crate::kernels::caps::Caps;
use crate::kernels::layout::{Matrix, PackedLayout, Shard, max_rows};
use crate::kernels::spec::{BufferId, Slice};
use crate::model::program::{AttentionSpec, Experts, Factor, GateUp, Op, Output, Program, Weight};
use crate::model::{OpWeight, Role, WeightKey, WeightSpec, WeightUse};
use crate::{Error, ErrorCode, Result};

pub(super) struct Placer<'a> {
    pub(super) plan: &'a mut Plan,
    pub(super) caps: &'a Caps,
    tensors: &'a [TensorInfo],
    found: HashMap<WeightKey, (usize, WeightSpec)>,
    pub(super) weights: Weights,
    pub(super) targets: Vec<Option<Target>>,
    /// Whether a table may lie on the host: sessions put its rows where a pass finds them, embedders do not.
    may_cache_rows: bool,
}

/// The name of the factor `NAME.scale` that the operation multiplies a product with. Products of one input lie side by
/// side in a buffer, whose rows `elementwise` takes as a whole, so a factor would change all of them.
fn factor_of_matrix(op: &Op) -> Option<String> {
    let Op::Scale { factor: Factor::Weight(key), .. } = op else { return None };
    Some(key.name()).filter(|name| name.ends_with(".scale"))
}

/// Decides where every matched tensor goes and allocates its buffers.
///
/// # Errors
/// `limit_exceeded` where one row of a matrix does not fit a binding, `unsupported_architecture` for heads that are too
/// large and for factors of whole matrices.
pub fn place(
    program: &Program,
    caps: &Caps,
    tensors: &[TensorInfo],
    matched: Vec<(usize, WeightSpec)>,
    plan: &mut Plan,
) -> Result<Placement> {
    if let Some(name) = program.all_ops().find_map(factor_of_matrix) {
        let message = format!("tensor {name}: the GPU path has no factors of matrices; load with backend 'cpu'");
        return Err(Error::new(ErrorCode::UnsupportedArchitecture, message));
    }
    for AttentionSpec { head_dim, value_dim, .. } in program.all_ops().filter_map(Op::attention) {
        let most = if head_dim == value_dim { MAX_HEAD_DIM } else { MAX_KEY_DIM };
        if head_dim > most as usize || value_dim > MAX_HEAD_DIM as usize {
            let message = format!("heads of {head_dim} values, the GPU path takes at most {most}");
            return Err(Error::new(ErrorCode::UnsupportedArchitecture, message));
        }
    }
    let found = matched.into_iter().map(|(index, spec)| (spec.key(), (index, spec))).collect();
    let (targets, may_cache_rows) = (vec![None; tensors.len()], may_cache_rows(program, caps));
    let mut placer = Placer { plan, caps, tensors, found, weights: Weights::default(), targets, may_cache_rows };
    let factors = program.rope_tables.iter().flat_map(|table| &table.factors).flat_map(|of| [of.short, of.long]);
    for key in factors.chain(program.conditions().flat_map(|condition| condition.by)) {
        if let Some((index, _)) = placer.found.get(&key) {
            placer.targets[*index] = Some(Target::Kept(key));
        }
    }
    for part in program.all_parts() {
        placer.part(program, part)?;
    }
    program.next.iter().filter_map(|next| next.drafted.ids).try_for_each(|ids| placer.vector(ids))?;
    if program.output == Output::Logits {
        for program in [Some(program), program.next.as_deref()].into_iter().flatten() {
            placer.updates(&in_a_row(program).0)?;
        }
    }
    Ok(Placement { weights: placer.weights, targets: placer.targets })
}

/// A matrix of a projection, with its bias.
type Linear = (WeightKey, Option<Weight>);

impl Placer<'_> {
    /// The weights of operations in order.
    fn part(&mut self, program: &Program, ops: &[Op]) -> Result<()> {
        let mut at = 0;
        while at < ops.len() {
            match &ops[at] {
                Op::Linear { x: input, .. } => {
                    let linear = |op: &Op| match op {
                        Op::Linear { x, weight, bias, .. } if x == input => Some((*weight, *bias)),
                        _ => None,
                    };
                    let linears: Vec<Linear> = ops[at..].iter().map_while(linear).collect();
                    at += linears.len() - 1;
                    self.projection(&linears)?;
                }
                Op::ExpertGate { gate_up, experts, .. } => self.gates_and_ups(gate_up, *experts)?,
                Op::ExpertDown { weight, bias, experts, .. } => {
                    let part = self.expert_part(&[*weight], bias.as_slice(), *experts)?;
                    self.weights.experts.insert(*weight, vec![part]);
                }
                Op::HeadLinear { weight, heads, .. } => {
                    let part = self.expert_part(&[*weight], &[], Experts { count: *heads, used: *heads })?;
                    self.weights.experts.insert(*weight, vec![part]);
                }
                op @ (Op::Scan { .. } | Op::ChannelScan { .. } | Op::Wkv { .. } | Op::WkvOutput { .. }) => {
                    let keys: Vec<WeightKey> = op.weights(program).iter().map(|weight| weight.key).collect();
                    self.vectors(&keys)?;
                }
                op => op.weights(program).iter().try_for_each(|weight| self.weight(weight))?,
            }
            at += 1;
        }
        Ok(())
    }

    pub(super) fn tensor(&self, key: WeightKey) -> Result<(usize, &TensorInfo, &WeightSpec)> {
        match self.found.get(&key) {
            Some((index, spec)) => Ok((*index, &self.tensors[*index], spec)),
            None => Err(Error::bad_file(format!("tensor {} is missing", key.name()))),
        }
    }

    /// A weight that no other lies beside.
    fn weight(&mut self, weight: &OpWeight) -> Result<()> {
        match weight.used_as {
            WeightUse::Table => self.table(weight.key),
            WeightUse::Values if weight.optional && !self.found.contains_key(&weight.key) => Ok(()),
            WeightUse::Values => self.vector(weight.key),
            WeightUse::Matrix => self.projection(&[(weight.key, None)]),
        }
    }

    fn table(&mut self, key: WeightKey) -> Result<()> {
        if self.weights.tables.contains_key(&key) {
            return Ok(());
        }
        if self.may_cache_rows && key.role == Role::PerLayerTokenEmbedding && self.cached_table(key)? {
            return Ok(());
        }
        let matrix = self.matrix(&[key])?;
        self.weights.tables.insert(key, matrix);
        Ok(())
    }

    fn vector(&mut self, key: WeightKey) -> Result<()> {
        self.vectors(&[key])
    }

    /// Vectors one after the other in one buffer, by the name of the first.
    fn vectors(&mut self, keys: &[WeightKey]) -> Result<()> {
        if keys.first().is_none_or(|first| self.weights.vectors.contains_key(first)) {
            return Ok(());
        }
        let sizes = keys.iter().map(|&key| self.tensor(key).map(|(_, _, spec)| spec.rows() * spec.cols()));
        let sizes = sizes.collect::<Result<Vec<usize>>>()?;
        let slice = self.plan.words(self.tensor(keys[0])?.1.name.clone(), sizes.iter().sum());
        let mut offset = 0;
        for (&key, size) in keys.iter().zip(sizes) {
            self.vector_target(key, slice.buffer, offset)?;
            offset += size as u64 * 4;
        }
        self.weights.vectors.insert(keys[0], slice);
        Ok(())
    }

    /// Vectors that decode reads side by side, once more: of updates that are folded into products, of head norms.
    fn updates(&mut self, ops: &[Op]) -> Result<()> {
        for fused in steps(ops, DECODE) {
            match fused.step {
                Step::Linears { input: Input { update: Some(update), norm, .. }, .. } => {
                    let norm = norm.and_then(|(norm, _)| norm.plain_rms()).map(|(weight, _)| weight);
                    let keys: Vec<WeightKey> = norm.into_iter().chain([update.norm.0]).chain(update.factor).collect();
                    let slice = self.side_by_side(&keys)?;
                    self.weights.updates.insert(update.norm.0, slice);
                }
                Step::Attention { heads: OfHeads { qk_norm: Some((q, k)), norms_rotated: false, .. }, .. } => {
                    let keys: Vec<WeightKey> = [q].into_iter().chain(k).collect();
                    let slice = self.side_by_side(&keys)?;
                    self.weights.head_norms.insert(q, slice);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Vectors one after the other in a buffer more, in whole `vec4`.
    fn side_by_side(&mut self, keys: &[WeightKey]) -> Result<Slice> {
        let sizes = keys.iter().map(|&key| self.tensor(key).map(|(_, _, spec)| spec.rows() * spec.cols()));
        let sizes = sizes.collect::<Result<Vec<usize>>>()?;
        let name = format!("{} and more", self.tensor(keys[0])?.1.name);
        let slice = self.plan.words(name, sizes.iter().sum::<usize>().next_multiple_of(4));
        let mut offset = 0;
        for (&key, size) in keys.iter().zip(sizes) {
            self.vector_target(key, slice.buffer, offset)?;
            offset += size as u64 * 4;
        }
        Ok(slice)
    }

    /// The values of a vector go to `buffer`, from byte `offset` on.
    fn vector_target(&mut self, key: WeightKey, buffer: BufferId, mut offset: u64) -> Result<()> {
        let (index, _, spec) = self.tensor(key)?;
        let mut runs = Vec::new();
        // A tensor of two dimensions has rows, which follow each other.
        let row = if spec.dims.len() == 1 { 1 } else { spec.cols() };
        for (from, count) in spec.runs().into_iter().map(|(from, count)| (from * row, count * row)) {
            runs.push(VectorRun { from, count, buffer, offset });
            offset += count as u64 * 4;
        }
        match &mut self.targets[index] {
            Some(Target::Vectors(others)) => others.extend(runs),
            target => *target = Some(Target::Vectors(runs)),
        }
        Ok(())
    }

    /// The rows of a matrix that a weight is.
    fn row_target(&mut self, key: WeightKey, matrix: &Matrix, mut row: u32) -> Result<()> {
        let (index, _, spec) = self.tensor(key)?;
        let mut runs = Vec::new();
        for (from, rows) in spec.runs() {
            runs.push(RowRun { from: from as u32, rows: rows as u32, matrix: matrix.clone(), row });
            row += rows as u32;
        }
        match &mut self.targets[index] {
            Some(Target::Rows(others)) => {
                for run in runs {
                    others.insert(others.partition_point(|other| other.from <= run.from), run);
                }
            }
            target => *target = Some(Target::Rows(runs)),
        }
        Ok(())
    }

    /// Stacks neighbours as far as they go together.
    fn projection(&mut self, linears: &[Linear]) -> Result<()> {
        let (first, _) = linears[0];
        // Layers that run again.
        if self.weights.projections.contains_key(&first) {
            return Ok(());
        }
        if let Some(table) = self.weights.tables.get(&first) {
            let matrix = table.clone();
            let part = Part { matrix, first_output: 0, bias: self.bias(&linears[..1])? };
            self.weights.projections.insert(first, vec![part]);
            return Ok(());
        }
        let mut parts = Vec::new();
        let (mut rest, mut first_output) = (linears, 0);
        while !rest.is_empty() {
            let count = (2..=rest.len()).rev().find(|&count| self.are_stackable(&rest[..count])).unwrap_or(1);
            let (stacked, others) = rest.split_at(count);
            let keys: Vec<WeightKey> = stacked.iter().map(|(key, _)| *key).collect();
            let matrix = self.matrix(&keys)?;
            let bias = self.bias(stacked)?;
            let rows = matrix.rows;
            parts.push(Part { matrix, first_output, bias });
            first_output += rows;
            rest = others;
        }
        self.weights.projections.insert(first, parts);
        Ok(())
    }

    /// One bias buffer for stacked matrices; zeros where one of them has none.
    fn bias(&mut self, linears: &[Linear]) -> Result<Option<Slice>> {
        let key = |bias: &Option<Weight>| bias.map(|bias| bias.key).filter(|key| self.found.contains_key(key));
        let found: Vec<Option<WeightKey>> = linears.iter().map(|(_, bias)| key(bias)).collect();
        let Some(first) = found.iter().flatten().next() else { return Ok(None) };
        let name = self.tensor(*first)?.1.name.clone();
        let rows = linears.iter().map(|(key, _)| Ok(self.tensor(*key)?.2.rows())).collect::<Result<Vec<_>>>()?;
        let bias = self.plan.words(name, rows.iter().sum());
        let mut offset = 0;
        for (key, rows) in found.into_iter().zip(rows) {
            if let Some(key) = key {
                self.vector_target(key, bias.buffer, offset)?;
            }
            offset += rows as u64 * 4;
        }
        Ok(Some(bias))
    }

    /// Whether these matrices have one type and together fit one binding.
    fn are_stackable(&self, linears: &[Linear]) -> bool {
        let tensors = linears.iter().map(|(key, _)| self.tensor(*key)).collect::<Result<Vec<_>>>();
        let Ok(tensors) = tensors else { return false };
        let (ty, cols) = (tensors[0].1.ty, tensors[0].2.cols());
        let rows: usize = tensors.iter().map(|(_, _, spec)| spec.rows()).sum();
        tensors.iter().all(|(_, tensor, _)| tensor.ty == ty) && rows as u64 <= self.rows_per_shard(ty, cols)
    }

    /// Gate and up of every expert: one matrix where their types agree.
    fn gates_and_ups(&mut self, gate_up: &GateUp, experts: Experts) -> Result<()> {
        let parts = match *gate_up {
            GateUp::Fused(key) | GateUp::Alone(key) => vec![self.expert_part(&[key], &[], experts)?],
            GateUp::Pair { weights, biases } => {
                let biases = biases.as_ref().map_or(&[][..], |biases| &biases[..]);
                let [gate, up] = weights;
                if self.tensor(gate)?.1.ty == self.tensor(up)?.1.ty {
                    vec![self.expert_part(&weights, biases, experts)?]
                } else {
                    let of = |which: usize| biases.get(which..=which).unwrap_or_default();
                    vec![self.expert_part(&[gate], of(0), experts)?, self.expert_part(&[up], of(1), experts)?]
                }
            }
        };
        self.weights.experts.insert(gate_up.key(), parts);
        Ok(())
    }

    /// One matrix in which the rows of `keys` follow each other expert by expert, in shards of whole experts.
    fn expert_part(&mut self, keys: &[WeightKey], biases: &[WeightKey], experts: Experts) -> Result<ExpertPart> {
        let (_, first, spec) = self.tensor(keys[0])?;
        let (ty, cols, name) = (first.ty, spec.cols(), first.name.clone());
        // All of them have as many rows.
        let rows = spec.rows() / experts.count;
        let of_expert = rows * keys.len();
        let step = self.rows_per_shard(ty, cols) / of_expert as u64 * of_expert as u64;
        if step == 0 {
            let need = PackedLayout::new(ty, of_expert as u32, cols as u32).bytes();
            let limit = self.caps.max_binding;
            let message = format!("an expert of {name} takes {need} bytes, a binding here holds {limit}");
            return Err(Error::new(ErrorCode::LimitExceeded, message));
        }
        let matrix = self.shards(&name, ty, [of_expert * experts.count, cols], step);
        for (k, &key) in keys.iter().enumerate() {
            let run = |e: usize| RowRun {
                from: (e * rows) as u32,
                rows: rows as u32,
                matrix: matrix.clone(),
                row: (e * of_expert + k * rows) as u32,
            };
            let index = self.tensor(key)?.0;
            self.targets[index] = Some(Target::Rows((0..experts.count).map(run).collect()));
        }
        let bias = self.expert_biases(biases)?;
        Ok(ExpertPart { matrix, bias })
    }

    /// One buffer of the biases of every expert, one tensor after the other.
    fn expert_biases(&mut self, keys: &[WeightKey]) -> Result<Option<Slice>> {
        let Some(first) = keys.first() else { return Ok(None) };
        let name = self.tensor(*first)?.1.name.clone();
        let counts = keys.iter().map(|&key| self.tensor(key).map(|(_, _, spec)| spec.cols() * spec.rows()));
        let counts = counts.collect::<Result<Vec<usize>>>()?;
        let bias = self.plan.words(name, counts.iter().sum());
        let mut offset = 0;
        for (&key, count) in keys.iter().zip(counts) {
            let index = self.tensor(key)?.0;
            let run = VectorRun { from: 0, count, buffer: bias.buffer, offset };
            self.targets[index] = Some(Target::Vectors(vec![run]));
            offset += count as u64 * 4;
        }
        Ok(Some(bias))
    }

    fn rows_per_shard(&self, ty: GgmlType, cols: usize) -> u64 {
        u64::from(max_rows(ty, cols as u32, self.caps.max_binding.min(self.caps.max_buffer)))
    }

    /// One matrix of the stacked rows of `keys`, in shards that fit a binding.
    fn matrix(&mut self, keys: &[WeightKey]) -> Result<Matrix> {
        let (_, first, spec) = self.tensor(keys[0])?;
        let (ty, cols, name) = (first.ty, spec.cols() as u32, first.name.clone());
        let row_counts: Vec<usize> = keys.iter().map(|&key| Ok(self.tensor(key)?.2.rows())).collect::<Result<_>>()?;
        let rows = row_counts.iter().sum::<usize>() as u32;
        let step = self.rows_per_shard(ty, cols as usize);
        if step == 0 {
            let need = PackedLayout::new(ty, 1, cols).bytes();
            let message = format!("a row of {name} takes {need} bytes, a binding here holds {}", self.caps.max_binding);
            return Err(Error::new(ErrorCode::LimitExceeded, message));
        }
        let matrix = self.shards(&name, ty, [rows as usize, cols as usize], step);
        let mut row = 0;
        for (&key, count) in keys.iter().zip(row_counts) {
            self.row_target(key, &matrix, row)?;
            row += count as u32;
        }
        Ok(matrix)
    }

    /// A matrix of this shape in buffers of at most `step` rows.
    pub(super) fn shards(&mut self, name: &str, ty: GgmlType, [rows, cols]: [usize; 2], step: u64) -> Matrix {
        let (rows, cols) = (rows as u32, cols as u32);
        let step = u32::try_from(step).unwrap_or(u32::MAX);
        let mut shards = Vec::new();
        let mut first_row = 0;
        while first_row < rows {
            let count = step.min(rows - first_row);
            let buffer = self.plan.alloc(name, PackedLayout::new(ty, count, cols).bytes());
            shards.push(Shard { buffer, first_row, rows: count });
            first_row += count;
        }
        Matrix { ty, rows, cols, shards }
    }
}
