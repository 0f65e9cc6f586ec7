//! Low-rank adapters (Hu et al. 2021, <https://arxiv.org/abs/2106.09685>): terms that are added to products of a model,
//! `y += scale · alpha / rank · B · A · x`; and control vectors (Zou et al. 2023, <https://arxiv.org/abs/2310.01405>):
//! vectors that are added to the outputs of layers. They are read from GGUF files as llama.cpp writes them; such a file
//! is hostile input.

use std::rc::Rc;

use super::op_weights::WeightUse;
use super::program::{Op, Program};
use super::roles::{EMBEDDING, Role, WeightKey};
use super::{ModelConfig, WeightSpec, unrotated, weight_specs};
use crate::gguf::{GgmlType, Gguf, HeaderReader, Metadata, TensorInfo, dequantize};
use crate::{Error, ErrorCode, Result};

/// Upper bound of the rank of a pair.
const MAX_RANK: u64 = 4096;

/// The low-rank matrices that change the product with one weight, or the rows of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// Rows of A.
    pub rank: usize,
    /// `[experts, rank, length of x]`; for a table `[rows, rank]`. Weights that are parts of one tensor share it.
    pub a: Rc<Vec<f32>>,
    /// `[experts, length of y, rank]`, times alpha / rank.
    pub b: Vec<f32>,
}

/// An adapter of a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Adapter {
    /// Low-rank matrices, with the weights whose products they change.
    pub pairs: Vec<(WeightKey, Pair)>,
    /// Control vectors: layers, and the vector that is added to the output of each.
    pub directions: Vec<(usize, Vec<f32>)>,
    /// Invocation tokens (activated LoRA, Greenewald et al. 2025, <https://arxiv.org/abs/2504.12397>): the adapter
    /// applies from their last occurrence in the prompt on. Empty: always.
    pub invocation: Vec<u32>,
}

impl Adapter {
    /// Reads an adapter of this model from a file.
    ///
    /// # Errors
    /// `bad_file` for a file that is not an adapter, or an adapter of another model: names the difference, with both
    /// values; `unsupported_quant` for tensors of other types than F32, F16, BF16 and Q8_0; `unsupported_architecture`
    /// for a change of a table that is the head, too, and for a control vector of a model with several streams.
    pub fn read(config: &ModelConfig, file: &[u8]) -> Result<Self> {
        let mut reader = HeaderReader::new(Some(file.len() as u64));
        let Some(Gguf { metadata, tensors, .. }) = reader.push(file)? else { return Err(reader.finish()) };
        if metadata.str("general.architecture")? == Some("controlvector") {
            let directions = directions(config, &tensors, file)?;
            return Ok(Self { directions, ..Self::default() });
        }
        check_kind(config, &metadata)?;
        let weights = Weights {
            program: super::program(config),
            specs: weight_specs(config),
            alpha: metadata.f32("adapter.lora.alpha")?.unwrap_or(0.0),
            is_half_split: metadata.bool("webgguf.half_split")?.unwrap_or(false),
            file,
        };
        let most = 4 * weights.specs.len();
        if tensors.len() > most {
            let message = format!("the adapter has {} tensors, expected at most {most} for this model", tensors.len());
            return Err(Error::bad_file(message));
        }
        let mut pairs = Vec::new();
        for tensor in &tensors {
            if let Some((name, [a, b])) = pair_of(tensor, &tensors)? {
                weights.add([a, b], name, &mut pairs)?;
            }
        }
        if pairs.is_empty() {
            return Err(Error::bad_file("the adapter has no tensors"));
        }
        let invocation = metadata.i32s("adapter.alora.invocation_tokens")?.unwrap_or_default();
        Ok(Self { pairs, directions: Vec::new(), invocation: invocation.into_iter().map(|id| id as u32).collect() })
    }

    /// The pair for the product with a weight.
    pub fn pair(&self, weight: WeightKey) -> Option<&Pair> {
        self.pairs.iter().find(|(key, _)| *key == weight).map(|(_, pair)| pair)
    }
}

/// The directions of a control vector: `direction.N` is added to the output of layer N, counted from 0. As in
/// llama.cpp, layer 0 has none.
fn directions(config: &ModelConfig, tensors: &[TensorInfo], file: &[u8]) -> Result<Vec<(usize, Vec<f32>)>> {
    let program = super::program(config);
    let (layers, residual) = (program.layers.len(), program.residual());
    if program.layers.iter().any(|ops| ops.last().map(Op::writes) != Some(residual)) {
        let message = "control vector: this model has other streams beside the residual stream";
        return Err(Error::new(ErrorCode::UnsupportedArchitecture, message));
    }
    let width = program.width(residual);
    let mut found = Vec::new();
    for tensor in tensors {
        let TensorInfo { name, dims, .. } = tensor;
        match (1..layers).find(|layer| *name == format!("direction.{layer}")) {
            Some(layer) if dims[..] == [width as u64] => found.push((layer, values(tensor, file)?)),
            _ => {
                let expected = format!("direction.1 to direction.{} of {width} values", layers - 1);
                let message = format!("control vector: expected {expected} for this model, found {name} of {dims:?}");
                return Err(Error::bad_file(message));
            }
        }
    }
    Ok(found)
}

/// The key of a layer's direction in dispatch lists; no tensor has it.
pub fn direction_key(layer: usize) -> WeightKey {
    WeightKey { role: Role::TokenEmbedding, layer: Some(layer) }
}

fn check_kind(config: &ModelConfig, metadata: &Metadata) -> Result<()> {
    let expected =
        [("general.type", "adapter"), ("general.architecture", config.architecture), ("adapter.type", "lora")];
    for (key, expected) in expected {
        let found = metadata.str(key)?.unwrap_or("nothing");
        if found != expected {
            let message = format!("adapter: expected {key} {expected}, found {}", crate::gguf::shown(found));
            return Err(Error::bad_file(message));
        }
    }
    Ok(())
}

/// The A and the B of a weight, given its A, and the name of its tensor; `None` for the B and for norms, which
/// llama.cpp leaves out, too.
fn pair_of<'t>(tensor: &'t TensorInfo, all: &'t [TensorInfo]) -> Result<Option<(&'t str, [&'t TensorInfo; 2])>> {
    let name = tensor.name.as_str();
    if name.ends_with("_norm.weight") {
        return Ok(None);
    }
    let (of, other) = match name.rsplit_once('.') {
        Some((of, "lora_a")) => (of, "lora_b"),
        Some((of, "lora_b")) => (of, "lora_a"),
        _ => {
            let message = format!("adapter tensor {name}: expected a name that ends with .lora_a or .lora_b");
            return Err(Error::bad_file(message));
        }
    };
    let is_other = |half: &&TensorInfo| half.name.strip_suffix(other).and_then(|of| of.strip_suffix('.')) == Some(of);
    match all.iter().find(is_other) {
        Some(b) if other == "lora_b" => Ok(Some((of, [tensor, b]))),
        Some(_) => Ok(None),
        None => Err(Error::bad_file(format!("adapter tensor {of}.{other} is missing"))),
    }
}

/// The weights of a model that adapters may change, and the file of an adapter.
struct Weights<'a> {
    program: Program,
    specs: Vec<WeightSpec>,
    alpha: f32,
    /// Whether the rows of q and k are in the order of Transformers, where the two values of a pair are half a head
    /// apart.
    is_half_split: bool,
    file: &'a [u8],
}

impl Weights<'_> {
    /// Adds the pairs of all weights that are parts of one tensor.
    fn add(&self, [a, b]: [&TensorInfo; 2], name: &str, pairs: &mut Vec<(WeightKey, Pair)>) -> Result<()> {
        let mut shared: Option<(usize, Rc<Vec<f32>>, Vec<f32>)> = None;
        for spec in self.specs.iter().filter(|spec| spec.name == name) {
            self.check_use(spec, name)?;
            if pairs.iter().any(|(key, _)| *key == spec.key()) {
                return Err(Error::bad_file(format!("adapter tensor {} occurs twice", a.name)));
            }
            if shared.is_none() {
                let rank = check_shapes([a, b], &spec.tensor_dims(), name == EMBEDDING)?;
                let factor = if self.alpha == 0.0 { 1.0 } else { self.alpha / rank as f32 };
                let mut values_of_b = values(b, self.file)?;
                values_of_b.iter_mut().for_each(|value| *value *= factor);
                shared = Some((rank, values(a, self.file)?.into(), values_of_b));
            }
            let Some((rank, a, b)) = &shared else { continue };
            let mut own = match spec.part {
                Some(_) => Vec::new(),
                None => b.clone(),
            };
            for (first, rows) in spec.runs().into_iter().filter(|_| spec.part.is_some()) {
                own.extend_from_slice(&b[first * rank..(first + rows) * rank]);
            }
            let own = self.in_order(spec, own, *rank);
            pairs.push((spec.key(), Pair { rank: *rank, a: a.clone(), b: own }));
        }
        match shared {
            Some(_) => Ok(()),
            None => Err(Error::bad_file(format!("adapter tensor {}: the model has no tensor {name}", a.name))),
        }
    }

    /// Rows of B for queries and keys in the order of the model's file, where pairs are neighbours.
    fn in_order(&self, spec: &WeightSpec, b: Vec<f32>, rank: usize) -> Vec<f32> {
        let rotated = |op: &Op| if let Op::Rope { head_dim, .. } = op { Some(*head_dim) } else { None };
        let head_dim = spec.layer.and_then(|layer| self.program.layers[layer].iter().find_map(rotated));
        match (spec.role, head_dim) {
            (Role::AttnQ | Role::AttnK, Some(head_dim)) if self.is_half_split => {
                let mut ordered = Vec::with_capacity(b.len());
                for head in b.chunks_exact(head_dim * rank) {
                    for i in 0..head_dim {
                        ordered.extend_from_slice(&head[(i % 2 * (head_dim / 2) + i / 2) * rank..][..rank]);
                    }
                }
                ordered
            }
            _ => b,
        }
    }

    fn check_use(&self, spec: &WeightSpec, name: &str) -> Result<()> {
        let [mut is_table, mut is_matrix, mut is_values, mut is_of_heads, mut is_rotated] = [false; 5];
        let parts = self.program.parts().into_iter();
        for (ops, at) in parts.flat_map(|ops| (0..ops.len()).map(move |at| (ops, at))) {
            let op = &ops[at];
            for weight in op.weights(&self.program).iter().filter(|weight| weight.key == spec.key()) {
                is_table |= weight.used_as == WeightUse::Table;
                is_matrix |= weight.used_as == WeightUse::Matrix;
                is_values |= weight.used_as == WeightUse::Values;
                is_of_heads |= matches!(op, Op::HeadLinear { .. } | Op::HeadValues { .. });
                is_rotated |= match *op {
                    Op::ExpertGate { x, .. } | Op::ExpertDown { x, .. } => unrotated(ops, at, x) != x,
                    Op::Embed { .. } => matches!(ops.get(at + 1), Some(Op::Hadamard { .. })),
                    _ => false,
                };
            }
        }
        let factor = name.replace(".weight", ".scale");
        let message = match (is_table, is_matrix, is_values) {
            _ if self.specs.iter().any(|spec| spec.name == factor) => "its product has a factor of its own, `.scale`",
            _ if is_of_heads => "each head has a matrix of its own there, which adapters do not change",
            _ if is_rotated => "the file has this table, or these experts, rotated",
            (true, true, _) => "it is the head of this model, too",
            (false, true, false) => return Ok(()),
            (true, false, false) if name == EMBEDDING => return Ok(()),
            _ => "the model multiplies nothing with it",
        };
        Err(Error::new(ErrorCode::UnsupportedArchitecture, format!("adapter of {name}: {message}")))
    }
}

/// The rank, if the shapes fit a tensor of these dimensions.
fn check_shapes([a, b]: [&TensorInfo; 2], dims: &[u64], is_table: bool) -> Result<usize> {
    let dim = |tensor: &TensorInfo, i: usize| tensor.dims.get(i).copied().unwrap_or(1);
    let rank = dim(b, 0);
    let of = |i: usize| dims.get(i).copied().unwrap_or(1);
    let expected = match is_table {
        true => [[rank, of(1), 1, 1], [rank, of(0), 1, 1]],
        false => [[of(0), rank, of(2), 1], [rank, of(1), of(2), 1]],
    };
    for (tensor, expected) in [a, b].into_iter().zip(expected) {
        if (0..4).any(|i| dim(tensor, i) != expected[i]) {
            let (name, found) = (&tensor.name, &tensor.dims);
            let message = format!("adapter tensor {name}: expected shape {expected:?} for this model, found {found:?}");
            return Err(Error::bad_file(message));
        }
    }
    if rank > MAX_RANK {
        let message = format!("adapter tensor {}: rank {rank}, expected at most {MAX_RANK}", b.name);
        return Err(Error::new(ErrorCode::LimitExceeded, message));
    }
    Ok(rank as usize)
}

/// The values of a tensor.
fn values(tensor: &TensorInfo, file: &[u8]) -> Result<Vec<f32>> {
    let name = &tensor.name;
    if !matches!(tensor.ty, GgmlType::F32 | GgmlType::F16 | GgmlType::BF16 | GgmlType::Q8_0) {
        let message = format!("adapter tensor {name}: expected F32, F16, BF16 or Q8_0, found {}", tensor.ty.name());
        return Err(Error::new(ErrorCode::UnsupportedQuant, message));
    }
    let Some(bytes) = file.get(tensor.offset as usize..tensor.end() as usize) else {
        let (end, size) = (tensor.end(), file.len());
        return Err(Error::bad_file(format!("adapter tensor {name} ends at byte {end}, the file has {size}")));
    };
    let mut values = vec![0.0; tensor.elements() as usize];
    dequantize(tensor.ty, bytes, &mut values)?;
    Ok(values)
}
