//! Low-rank adapters (Hu et al. 2021, <https://arxiv.org/abs/2106.09685>): what is added to products of a model,
//! `y += scale · alpha / rank · B · A · x`. Read from GGUF files as llama.cpp writes them; such a file is hostile input.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::op_weights::{OpWeight, WeightUse};
use super::program::{Op, Program};
use super::roles::{EMBEDDING, Role, WeightKey};
use super::{ModelConfig, WeightSpec, weight_specs};
use crate::gguf::{GgmlType, Gguf, HeaderReader, Metadata, TensorInfo, dequantize};
use crate::{Error, ErrorCode, Result};

/// Ranks of a pair, at most.
const MAX_RANK: u64 = 4096;

/// What an adapter adds to the product with one weight; of a table, to its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// Rows of A.
    pub rank: usize,
    /// `[experts, rank, length of x]`; of a table `[its rows, rank]`. Weights that are parts of one tensor share it.
    pub a: Rc<Vec<f32>>,
    /// `[experts, length of y, rank]`, times alpha / rank.
    pub b: Vec<f32>,
}

/// An adapter of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Adapter {
    /// By the weights whose products they change.
    pub pairs: BTreeMap<WeightKey, Pair>,
    /// The tokens from whose last occurrence in a prompt on the adapter is at work (activated LoRA, Greenewald et al.
    /// 2025, <https://arxiv.org/abs/2504.12397>); none for one that is always at work.
    pub invocation: Vec<u32>,
}

impl Adapter {
    /// The adapter that a file holds, if it is one of this model.
    ///
    /// # Errors
    /// `bad_file` for a file that is no adapter, or one of another model: names what differs and says both;
    /// `unsupported_quant` for tensors of other types than F32, F16, BF16 and Q8_0; `unsupported_architecture` for a
    /// change of a table that is the head, too.
    pub fn read(config: &ModelConfig, file: &[u8]) -> Result<Self> {
        let mut reader = HeaderReader::new(Some(file.len() as u64));
        let Some(gguf) = reader.push(file)? else { return Err(reader.finish()) };
        check_kind(config, &gguf.metadata)?;
        let alpha = gguf.metadata.f32("adapter.lora.alpha")?.unwrap_or(0.0);
        let invocation = gguf.metadata.i32s("adapter.alora.invocation_tokens")?.unwrap_or_default();
        let mut weights = Weights::of(config);
        weights.is_half_split = gguf.metadata.bool("webgguf.half_split")?.unwrap_or(false);
        let mut pairs = BTreeMap::new();
        for (name, halves) in halves(&gguf)? {
            let [Some(a), Some(b)] = halves else {
                let lacks = if halves[0].is_none() { "lora_a" } else { "lora_b" };
                return Err(Error::bad_file(format!("adapter tensor {name}.{lacks} is missing")));
            };
            weights.pairs([a, b], name, alpha, file, &mut pairs)?;
        }
        if pairs.is_empty() {
            return Err(Error::bad_file("the adapter has no tensors"));
        }
        Ok(Self { pairs, invocation: invocation.into_iter().map(|id| id as u32).collect() })
    }

    /// The position from which on the adapter is at work in a text: that where the last occurrence of its invocation
    /// tokens begins; `None` where there is none.
    pub fn start_in(&self, ids: &[u32]) -> Option<usize> {
        if self.invocation.is_empty() {
            return Some(0);
        }
        ids.windows(self.invocation.len()).rposition(|window| window == self.invocation)
    }
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

/// The A and the B of each weight, by the name of its tensor.
fn halves(gguf: &Gguf) -> Result<BTreeMap<&str, [Option<&TensorInfo>; 2]>> {
    let mut found: BTreeMap<&str, [Option<&TensorInfo>; 2]> = BTreeMap::new();
    for tensor in &gguf.tensors {
        let name = tensor.name.as_str();
        // llama.cpp leaves them out, too.
        if name.ends_with("_norm.weight") {
            continue;
        }
        let half = match name.rsplit_once('.') {
            Some((of, "lora_a")) => (of, 0),
            Some((of, "lora_b")) => (of, 1),
            _ => {
                let message = format!("adapter tensor {name}: expected a name that ends with .lora_a or .lora_b");
                return Err(Error::bad_file(message));
            }
        };
        if found.entry(half.0).or_default()[half.1].replace(tensor).is_some() {
            return Err(Error::bad_file(format!("adapter tensor {name} occurs twice")));
        }
    }
    Ok(found)
}

/// The weights of a model that adapters may change, by the names of their tensors.
struct Weights {
    by_name: HashMap<String, Vec<WeightSpec>>,
    uses: HashMap<WeightKey, Vec<WeightUse>>,
    /// Values of a head of the queries and keys of each layer that are rotated.
    head_dims: HashMap<usize, usize>,
    /// The rows of q and k are as Transformers has them: the two values of a pair are half a head apart.
    is_half_split: bool,
}

impl Weights {
    fn of(config: &ModelConfig) -> Self {
        let program: Program = super::program(config);
        let mut uses: HashMap<WeightKey, Vec<WeightUse>> = HashMap::new();
        for OpWeight { key, used_as, .. } in program.ops().flat_map(|op| op.weights(&program)) {
            uses.entry(key).or_default().push(used_as);
        }
        let mut by_name: HashMap<String, Vec<WeightSpec>> = HashMap::new();
        for spec in weight_specs(config) {
            by_name.entry(spec.name.clone()).or_default().push(spec);
        }
        let of_layer = |(layer, ops): (usize, &Vec<Op>)| {
            let rotated = |op: &Op| if let Op::Rope { head_dim, .. } = op { Some(*head_dim) } else { None };
            Some((layer, ops.iter().find_map(rotated)?))
        };
        let head_dims = program.layers.iter().enumerate().filter_map(of_layer).collect();
        Self { by_name, uses, head_dims, is_half_split: false }
    }

    /// Adds the pairs of all weights that lie in one tensor.
    fn pairs(
        &self,
        [a, b]: [&TensorInfo; 2],
        name: &str,
        alpha: f32,
        file: &[u8],
        pairs: &mut BTreeMap<WeightKey, Pair>,
    ) -> Result<()> {
        let Some(specs) = self.by_name.get(name) else {
            return Err(Error::bad_file(format!("adapter tensor {}: the model has no tensor {name}", a.name)));
        };
        for spec in specs {
            self.check_use(spec, name)?;
        }
        let dims = specs[0].tensor_dims();
        let rank = check_shapes([a, b], &dims, name == EMBEDDING)?;
        let factor = if alpha == 0.0 { 1.0 } else { alpha / rank as f32 };
        let values_of_a = Rc::new(values(a, file)?);
        let mut values_of_b = values(b, file)?;
        values_of_b.iter_mut().for_each(|value| *value *= factor);
        for spec in specs {
            let own = match spec.part {
                Some(_) => spec
                    .runs()
                    .into_iter()
                    .flat_map(|(first, rows)| values_of_b[first * rank..(first + rows) * rank].iter().copied())
                    .collect(),
                None => values_of_b.clone(),
            };
            let own = self.in_order(spec, own, rank);
            pairs.insert(spec.key(), Pair { rank, a: values_of_a.clone(), b: own });
        }
        Ok(())
    }

    /// Rows of B for queries and keys in the order of the file of the model, where pairs are neighbours.
    fn in_order(&self, spec: &WeightSpec, b: Vec<f32>, rank: usize) -> Vec<f32> {
        let head_dim = spec.layer.and_then(|layer| self.head_dims.get(&layer));
        match (spec.role, head_dim) {
            (Role::AttnQ | Role::AttnK, Some(head_dim)) if self.is_half_split => {
                let rows: Vec<&[f32]> = b.chunks_exact(rank).collect();
                let heads = rows.chunks_exact(*head_dim);
                heads
                    .flat_map(|head| (0..*head_dim).flat_map(|i| head[i % 2 * (head_dim / 2) + i / 2]))
                    .copied()
                    .collect()
            }
            _ => b,
        }
    }

    fn check_use(&self, spec: &WeightSpec, name: &str) -> Result<()> {
        let uses = self.uses.get(&spec.key()).map_or(&[][..], Vec::as_slice);
        let has = |of| uses.contains(&of);
        if name == EMBEDDING && has(WeightUse::Table) && has(WeightUse::Matrix) {
            let message = format!("adapter of {name}: it is the head of this model, too");
            return Err(Error::new(ErrorCode::UnsupportedArchitecture, message));
        }
        let is_known = has(WeightUse::Matrix) || (name == EMBEDDING && has(WeightUse::Table));
        if !is_known || has(WeightUse::Values) {
            let message = format!("adapter of {name}: the model multiplies nothing with it");
            return Err(Error::new(ErrorCode::UnsupportedArchitecture, message));
        }
        Ok(())
    }
}

/// The rank, where the shapes are those of a pair for a tensor of these dimensions.
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
