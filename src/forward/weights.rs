//! Where every tensor of the file goes on the GPU.
//!
//! Matrices that one dispatch reads together are stacked by rows: q, k and v (as far as their types agree), gate and
//! up. A matrix larger than the device's binding limit is cut by rows into shards. Vectors become f32.

use std::collections::HashMap;

use super::plan::Plan;
use crate::config::ModelConfig;
use crate::gguf::{GgmlType, TensorInfo};
use crate::kernels::caps::Caps;
use crate::kernels::layout::{Matrix, PackedLayout, Shard, max_rows};
use crate::kernels::spec::{BufferId, Slice};
use crate::model::{Role, WeightSpec};
use crate::{Error, ErrorCode, Result};

/// Where one tensor goes.
#[derive(Debug, Clone)]
pub enum Target {
    /// Rows of a matrix, from `row` on, to be repacked.
    Rows { matrix: Matrix, row: u32 },
    /// f32 values of a vector buffer, from byte `offset` on.
    Vector { buffer: BufferId, offset: u64 },
    /// Factors of the RoPE frequencies: the host makes the frequency table from them.
    RopeFactors,
}

/// A part of the QKV projection: q, k, v or neighbours of them with one type, with its bias.
#[derive(Debug, Clone)]
pub struct Part {
    /// Stacked rows.
    pub matrix: Matrix,
    /// First output among the q·k·v row of a token.
    pub first_output: u32,
    /// `[matrix.rows]` f32.
    pub bias: Option<Slice>,
}

/// Gate and up projections.
#[derive(Debug, Clone)]
pub enum GateUp {
    /// Gate's rows, then up's.
    Stacked(Matrix),
    /// Types differ, or together they pass the binding limit.
    Separate(Matrix, Matrix),
}

/// The weights of one layer.
#[derive(Debug, Clone)]
pub struct Layer {
    /// `[hidden]`
    pub attn_norm: Slice,
    /// In order of their outputs.
    pub qkv: Vec<Part>,
    /// `[head_dim]` each: q and k.
    pub qk_norm: Option<(Slice, Slice)>,
    /// `[hidden, heads · head_dim]`
    pub attn_out: Matrix,
    /// `[hidden]`
    pub ffn_norm: Slice,
    /// `[2 · ffn, hidden]`
    pub gate_up: GateUp,
    /// `[hidden, ffn]`
    pub down: Matrix,
}

/// The weights of a model.
#[derive(Debug, Clone)]
pub struct Weights {
    /// `[vocab, hidden]`
    pub embedding: Matrix,
    /// In order.
    pub layers: Vec<Layer>,
    /// `[hidden]`
    pub output_norm: Slice,
    /// `[vocab, hidden]`; the embedding where the model ties them.
    pub head: Matrix,
}

/// What the attention kernels keep in workgroup memory bounds the size of a head.
const MAX_HEAD_DIM: usize = 256;

type Key = (Option<usize>, Role);

/// Places tensors; `targets` is indexed like the tensor table of the file.
pub struct Placement {
    /// The weights, by role.
    pub weights: Weights,
    /// Where each tensor goes; `None` for tensors that the model does not use.
    pub targets: Vec<Option<Target>>,
}

struct Placer<'a> {
    plan: &'a mut Plan,
    caps: &'a Caps,
    tensors: &'a [TensorInfo],
    found: HashMap<Key, (usize, WeightSpec)>,
    targets: Vec<Option<Target>>,
}

/// Decides where every matched tensor goes and allocates its buffers.
///
/// # Errors
/// `limit_exceeded` where one row of a matrix does not fit a binding, `unsupported_architecture` for heads that are too
/// large.
pub fn place(
    config: &ModelConfig,
    caps: &Caps,
    tensors: &[TensorInfo],
    matched: Vec<(usize, WeightSpec)>,
    plan: &mut Plan,
) -> Result<Placement> {
    if config.head_dim > MAX_HEAD_DIM {
        let message = format!("heads of {} values, the GPU path takes at most {MAX_HEAD_DIM}", config.head_dim);
        return Err(Error::new(ErrorCode::UnsupportedArchitecture, message));
    }
    let found = matched.into_iter().map(|(index, spec)| ((spec.layer, spec.role), (index, spec))).collect();
    let mut placer = Placer { plan, caps, tensors, found, targets: vec![None; tensors.len()] };
    let embedding = placer.matrix(&[(None, Role::TokenEmbedding)])?;
    let head = match placer.has((None, Role::Output)) {
        true => placer.matrix(&[(None, Role::Output)])?,
        false => embedding.clone(),
    };
    let output_norm = placer.vector((None, Role::OutputNorm))?;
    if let Some((index, _)) = placer.found.get(&(None, Role::RopeFreqs)) {
        placer.targets[*index] = Some(Target::RopeFactors);
    }
    let layers = (0..config.layers).map(|layer| placer.layer(layer)).collect::<Result<_>>()?;
    Ok(Placement { weights: Weights { embedding, layers, output_norm, head }, targets: placer.targets })
}

impl Placer<'_> {
    fn has(&self, key: Key) -> bool {
        self.found.contains_key(&key)
    }

    fn tensor(&self, key: Key) -> Result<(usize, &TensorInfo, &WeightSpec)> {
        match self.found.get(&key) {
            Some((index, spec)) => Ok((*index, &self.tensors[*index], spec)),
            None => Err(Error::bad_file(format!("the model has no tensor for {:?} of layer {:?}", key.1, key.0))),
        }
    }

    fn layer(&mut self, layer: usize) -> Result<Layer> {
        let key = |role| (Some(layer), role);
        Ok(Layer {
            attn_norm: self.vector(key(Role::AttnNorm))?,
            qkv: self.qkv(layer)?,
            qk_norm: match self.has(key(Role::AttnQNorm)) {
                true => Some((self.vector(key(Role::AttnQNorm))?, self.vector(key(Role::AttnKNorm))?)),
                false => None,
            },
            attn_out: self.matrix(&[key(Role::AttnOut)])?,
            ffn_norm: self.vector(key(Role::FfnNorm))?,
            gate_up: self.gate_up(key(Role::FfnGate), key(Role::FfnUp))?,
            down: self.matrix(&[key(Role::FfnDown)])?,
        })
    }

    fn qkv(&mut self, layer: usize) -> Result<Vec<Part>> {
        let roles = [Role::AttnQ, Role::AttnK, Role::AttnV];
        let biases = [Role::AttnQBias, Role::AttnKBias, Role::AttnVBias];
        let mut parts: Vec<Part> = Vec::new();
        let mut start = 0;
        let mut first_output = 0;
        while start < roles.len() {
            let end = (start + 1..=roles.len()).rev().find(|&end| {
                let keys: Vec<Key> = roles[start..end].iter().map(|&role| (Some(layer), role)).collect();
                end == start + 1 || self.stackable(&keys)
            });
            let end = end.unwrap_or(start + 1);
            let keys: Vec<Key> = roles[start..end].iter().map(|&role| (Some(layer), role)).collect();
            let matrix = self.matrix(&keys)?;
            let bias = self.stacked_bias(layer, &biases[start..end], &keys)?;
            let rows = matrix.rows;
            parts.push(Part { matrix, first_output, bias });
            first_output += rows;
            start = end;
        }
        Ok(parts)
    }

    /// One bias buffer for stacked matrices; zeros stand for a bias that the file lacks beside one that it has.
    fn stacked_bias(&mut self, layer: usize, biases: &[Role], keys: &[Key]) -> Result<Option<Slice>> {
        if !biases.iter().any(|&role| self.has((Some(layer), role))) {
            return Ok(None);
        }
        let rows: Vec<usize> = keys.iter().map(|&key| Ok(self.tensor(key)?.2.rows())).collect::<Result<_>>()?;
        let bias = self.plan.words(format!("layer {layer} qkv bias"), rows.iter().sum());
        let mut offset = 0;
        for (&role, rows) in biases.iter().zip(rows) {
            if let Some((index, _)) = self.found.get(&(Some(layer), role)) {
                self.targets[*index] = Some(Target::Vector { buffer: bias.buffer, offset });
            }
            offset += rows as u64 * 4;
        }
        Ok(Some(bias))
    }

    fn gate_up(&mut self, gate: Key, up: Key) -> Result<GateUp> {
        match self.stackable(&[gate, up]) {
            true => Ok(GateUp::Stacked(self.matrix(&[gate, up])?)),
            false => Ok(GateUp::Separate(self.matrix(&[gate])?, self.matrix(&[up])?)),
        }
    }

    /// Whether these matrices have one type and together fit one binding.
    fn stackable(&self, keys: &[Key]) -> bool {
        let Ok(tensors) = keys.iter().map(|&key| self.tensor(key)).collect::<Result<Vec<_>>>() else { return false };
        let (ty, cols) = (tensors[0].1.ty, tensors[0].2.cols());
        let rows: usize = tensors.iter().map(|(_, _, spec)| spec.rows()).sum();
        tensors.iter().all(|(_, tensor, _)| tensor.ty == ty) && rows as u64 <= self.rows_per_shard(ty, cols)
    }

    fn rows_per_shard(&self, ty: GgmlType, cols: usize) -> u64 {
        u64::from(max_rows(ty, cols as u32, self.caps.max_binding.min(self.caps.max_buffer)))
    }

    /// One matrix of the stacked rows of `keys`, in shards that fit a binding.
    fn matrix(&mut self, keys: &[Key]) -> Result<Matrix> {
        let (_, first, spec) = self.tensor(keys[0])?;
        let (ty, cols, name) = (first.ty, spec.cols() as u32, first.name.clone());
        let row_counts: Vec<usize> = keys.iter().map(|&key| Ok(self.tensor(key)?.2.rows())).collect::<Result<_>>()?;
        let rows = row_counts.iter().sum::<usize>() as u32;
        let step = u32::try_from(self.rows_per_shard(ty, cols as usize)).unwrap_or(u32::MAX);
        if step == 0 {
            let need = PackedLayout::new(ty, 1, cols).bytes();
            let message = format!("a row of {name} takes {need} bytes, a binding here holds {}", self.caps.max_binding);
            return Err(Error::new(ErrorCode::LimitExceeded, message));
        }
        let mut shards = Vec::new();
        let mut first_row = 0;
        while first_row < rows {
            let count = step.min(rows - first_row);
            let buffer = self.plan.alloc(name.clone(), PackedLayout::new(ty, count, cols).bytes());
            shards.push(Shard { buffer, first_row, rows: count });
            first_row += count;
        }
        let matrix = Matrix { ty, rows, cols, shards };
        let mut row = 0;
        for (&key, count) in keys.iter().zip(row_counts) {
            let (index, ..) = self.tensor(key)?;
            self.targets[index] = Some(Target::Rows { matrix: matrix.clone(), row });
            row += count as u32;
        }
        Ok(matrix)
    }

    fn vector(&mut self, key: Key) -> Result<Slice> {
        let (index, tensor, spec) = self.tensor(key)?;
        let (name, values) = (tensor.name.clone(), spec.cols());
        let slice = self.plan.words(name, values);
        self.targets[index] = Some(Target::Vector { buffer: slice.buffer, offset: 0 });
        Ok(slice)
    }
}
