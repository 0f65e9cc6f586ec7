//! The tensors of a model: roles and shapes, and how they are found in the tensor table of a file.

use std::collections::{HashMap, HashSet};

use super::condition::Condition;
use super::op_weights::{OpWeight, WeightUse};
use super::program::{Program, TensorPart};
use super::roles::{Role, WeightKey};
use super::{ModelConfig, Pooling};
use crate::error::{Error, ErrorCode, Result};
use crate::gguf::TensorInfo;

/// A tensor that a model wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeightSpec {
    /// The name of the tensor in the file.
    pub name: String,
    /// The role of the weight.
    pub role: Role,
    /// The layer it belongs to, or `None` for the model's own.
    pub layer: Option<usize>,
    /// The shape in GGUF order: `[length of a row]`, `[length of a row, rows]`, or for experts `[.., rows, experts]`.
    pub dims: Vec<u64>,
    /// The part of the tensor, if the weight is not all of it.
    pub part: Option<TensorPart>,
    /// Whether the weight is read as f32 values, as vectors and taps of convolutions are, and not as a matrix in
    /// blocks.
    pub values: bool,
    /// Whether the model runs without it.
    pub optional: bool,
}

impl WeightSpec {
    /// The key of the weight in a program.
    pub fn key(&self) -> WeightKey {
        WeightKey { layer: self.layer, role: self.role }
    }

    /// The shape of the tensor.
    pub fn tensor_dims(&self) -> Vec<u64> {
        let mut dims = self.dims.clone();
        if let (Some(part), Some(rows)) = (self.part, dims.last_mut()) {
            *rows = part.of as u64;
        }
        dims
    }

    /// The runs of rows of the tensor (for vectors, of values) that the weight consists of: first row and length of
    /// each.
    pub fn runs(&self) -> Vec<(usize, usize)> {
        let rows = if self.dims.len() == 1 { self.cols() } else { self.rows() };
        self.part.map_or_else(|| vec![(0, rows)], |part| part.runs(rows).collect())
    }

    /// The length of a row.
    pub fn cols(&self) -> usize {
        self.dims.first().map_or(0, |&n| n as usize)
    }

    /// The number of rows, of all experts together; 1 for a vector.
    pub fn rows(&self) -> usize {
        self.dims.iter().skip(1).map(|&n| n as usize).product()
    }
}

/// Every tensor that the model's program reads, each once, in the order of its first use.
pub fn weight_specs(config: &ModelConfig) -> Vec<WeightSpec> {
    let program = super::program(config);
    let factors = program.rope_tables.iter().flat_map(|table| {
        let keys = table.factors.into_iter().flat_map(|factors| [factors.short, factors.long]);
        let values = |key| OpWeight { key, dims: vec![table.dims / 2], used_as: WeightUse::Values, optional: true };
        keys.map(values)
    });
    let conditions = program.conditions().flat_map(|Condition { by: [down, up], sizes: [width, inner], .. }| {
        let values =
            |key, dims: [usize; 2]| OpWeight { key, dims: dims.into(), used_as: WeightUse::Values, optional: false };
        [values(*down, [*width, *inner]), values(*up, [*inner, *width])]
    });
    let ids = program.next.iter().filter_map(|next| {
        let dims = vec![2 * next.width(next.output_activation())];
        next.drafted.ids.map(|key| OpWeight { key, dims, used_as: WeightUse::Values, optional: false })
    });
    let mut known = HashSet::new();
    let further = factors.chain(conditions).chain(ids);
    let wanted = program.all_ops().flat_map(|op| op.weights(&program)).chain(further);
    let specs = wanted.filter(|weight| known.insert(weight.key)).map(|weight| spec(&program, weight));
    // Weights of the model itself come first.
    let (mut own, of_layers): (Vec<_>, Vec<_>) = specs.partition(|spec| spec.layer.is_none());
    own.extend(of_layers);
    own
}

/// The tensor of a weight.
fn spec(program: &Program, weight: OpWeight) -> WeightSpec {
    let OpWeight { key, dims, used_as, optional } = weight;
    let part = program.parts.get(&key).copied();
    WeightSpec {
        name: part.map_or(key, |part| part.tensor).name(),
        role: key.role,
        layer: key.layer,
        dims: dims.into_iter().map(|n| n as u64).collect(),
        part,
        values: used_as == WeightUse::Values,
        optional,
    }
}

/// Finds every tensor of the model in the table of a file: pairs of an index into `tensors` and a weight, in the order
/// of [`weight_specs`]. A fused tensor has a pair for each of its weights. Unknown tensors are ignored.
///
/// # Errors
/// `bad_file` for a missing tensor or a wrong shape (names the tensor and both shapes) and for a name that occurs
/// twice; `unsupported_architecture` for a file of an older converter, and for a bias or a scale that the architecture
/// does not have, since without it the answers would be wrong.
pub fn match_tensors(config: &ModelConfig, tensors: &[TensorInfo]) -> Result<Vec<(usize, WeightSpec)>> {
    let mut by_name = HashMap::with_capacity(tensors.len());
    for (index, tensor) in tensors.iter().enumerate() {
        if by_name.insert(tensor.name.as_str(), index).is_some() {
            return Err(Error::bad_file(format!("tensor {} occurs twice", tensor.name)));
        }
    }
    let specs = weight_specs(config);
    refuse_unknown_terms(config, tensors, &specs)?;
    let mut found = Vec::with_capacity(specs.len());
    for spec in specs {
        match by_name.get(spec.name.as_str()) {
            Some(&index) => {
                check_shape(&tensors[index], &spec)?;
                found.push((index, spec));
            }
            None if spec.optional => {}
            None => return Err(missing(&spec, &by_name)),
        }
    }
    Ok(found)
}

/// The message for files of older converters, by the first missing tensor of a layer: experts as separate tensors
/// (before April 2024; llama.cpp does not read them either), and Qwen 3 Next's q, k, v and z interleaved by heads of k.
const OLD_NAMES: [(Role, &str); 2] = [(Role::ExpertGate, "ffn_gate.0.weight"), (Role::AttnQkv, "ssm_in.weight")];

fn missing(spec: &WeightSpec, by_name: &HashMap<&str, usize>) -> Error {
    let (name, dims) = (&spec.name, spec.tensor_dims());
    if !by_name.keys().any(|name| name.starts_with("blk.0.")) && by_name.keys().any(|name| name.contains(".nextn.")) {
        return Error::invalid_argument(
            "the file is a block for multi-token prediction alone: take one that has the model, too",
        );
    }
    let old = OLD_NAMES.iter().find(|(role, _)| *role == spec.role).and_then(|(_, old)| {
        let old = format!("blk.{}.{old}", spec.layer?);
        by_name.contains_key(old.as_str()).then_some(old)
    });
    match old {
        None => Error::bad_file(format!("tensor {name} of shape {dims:?} is missing")),
        Some(old) => {
            let message = format!("tensor {name} is missing, {old} is of an older converter: take a newer file");
            Error::new(ErrorCode::UnsupportedArchitecture, message)
        }
    }
}

/// Compares shapes. GGUF may have trailing dimensions of 1, and dimensions of 1 between concatenated vectors.
fn check_shape(tensor: &TensorInfo, spec: &WeightSpec) -> Result<()> {
    let expected = spec.tensor_dims();
    let is_vector = spec.part.is_some() && expected.len() == 1;
    if is_vector && tensor.dims.first() == spec.dims.first() && tensor.elements() == expected[0] {
        return Ok(());
    }
    let longest = tensor.dims.len().max(expected.len());
    let padded = |dims: &[u64], i: usize| dims.get(i).copied().unwrap_or(1);
    let same = (0..longest).all(|i| padded(&tensor.dims, i) == padded(&expected, i));
    // For values, axes of length 1 do not matter.
    let long = |dims: &[u64]| dims.iter().copied().filter(|&n| n != 1).collect::<Vec<_>>();
    if same || (spec.values && long(&tensor.dims) == long(&expected)) {
        return Ok(());
    }
    Err(Error::bad_file(format!("tensor {}: expected shape {expected:?}, found {:?}", spec.name, tensor.dims)))
}

/// Suffixes of tensors that change a product: biases, factors (NVFP4), and adapters.
const CHANGING: [&str; 4] = [".bias", ".scale", ".lora_a", ".lora_b"];

/// Whether a model has tensors of this name that it needs not: layers behind the last predict further tokens, a
/// classifier is not asked where a text becomes a vector, and Granite Vision has no norm behind its layers.
fn is_unused(config: &ModelConfig, name: &str) -> bool {
    let images = config.encoder.as_ref().filter(|encoder| encoder.bins == 0);
    let (prefix, layers) = images.map_or(("blk.", config.layers), |encoder| ("v.blk.", encoder.depth));
    let layer = name.strip_prefix(prefix).and_then(|rest| rest.split('.').next()?.parse::<usize>().ok());
    let is_not_normed = images.is_some_and(|encoder| !encoder.offsets.is_empty());
    let has_scores = config.embedder.pooling == Some(Pooling::Rank);
    layer.is_some_and(|layer| layer >= layers)
        || (name.starts_with("cls.") && !has_scores)
        || (name.starts_with("v.post_ln.") && is_not_normed)
}

/// Warnings about tensors that are not read.
pub(super) fn notes(config: &ModelConfig, tensors: &[TensorInfo]) -> Vec<String> {
    [unread(config, tensors), idle_blocks(config)].into_iter().flatten().collect()
}

fn unread(config: &ModelConfig, tensors: &[TensorInfo]) -> Option<String> {
    let specs = weight_specs(config);
    let known: HashSet<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    // Scales of activations are for kernels that quantise them, RWKV's first layer has no values before it, and
    // LFM2-Audio's encoder has embeddings of what the model says.
    let is_spare = |name: &str| {
        let is_known = ["a.position_embd.weight", "resampler.pos_embed_k"].contains(&name);
        let is_known = is_known || name.starts_with("blk.0.time_mix_v");
        is_known || name.ends_with(".input_scale")
    };
    let is_known = |name: &str| known.contains(name) || is_unused(config, name) || is_spare(name);
    let unread: Vec<&str> = tensors.iter().map(|tensor| tensor.name.as_str()).filter(|name| !is_known(name)).collect();
    let first = crate::gguf::shown(unread.first()?);
    let architecture = config.architecture;
    Some(format!("{} tensors are not read for architecture {architecture}, the first is {first}", unread.len()))
}

/// A warning about blocks for multi-token prediction that do not draft: the family has no use for them, or there are
/// several.
fn idle_blocks(config: &ModelConfig) -> Option<String> {
    let count = config.tensor_names.iter().filter(|name| name.ends_with(".nextn.eh_proj.weight")).count();
    if count == 0 || super::program(config).next.is_some() {
        return None;
    }
    let architecture = config.architecture;
    Some(format!("blocks for multi-token prediction that are not used for architecture {architecture}: {count}"))
}

fn refuse_unknown_terms(config: &ModelConfig, tensors: &[TensorInfo], specs: &[WeightSpec]) -> Result<()> {
    let known: HashSet<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    let changes = |name: &&str| CHANGING.iter().any(|end| name.ends_with(end));
    let is_stray = |name: &&str| {
        changes(name) && !known.contains(name) && !is_unused(config, name) && !config.is_of_another_encoder(name)
    };
    let stray = tensors.iter().map(|t| t.name.as_str()).find(is_stray);
    stray.map_or(Ok(()), |name| {
        let (_, kind) = name.rsplit_once('.').unwrap_or_default();
        let message = format!("tensor {name}: the architecture {} has no such {kind} here", config.architecture);
        Err(Error::new(ErrorCode::UnsupportedArchitecture, message))
    })
}
