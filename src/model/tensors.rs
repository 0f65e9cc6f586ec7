//! The tensors of a model: names, roles and shapes, and their search in a file's tensor table.

use std::collections::{HashMap, HashSet};

use super::{Architecture, Bias};
use crate::config::ModelConfig;
use crate::error::{Error, ErrorCode, Result};
use crate::gguf::TensorInfo;

/// The embedding table's name.
pub(crate) const EMBEDDING: &str = "token_embd.weight";
/// The output head's name. A file without it uses the embedding table as head.
pub(crate) const HEAD: &str = "output.weight";

/// What a tensor is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// One row per token: the start of the residual stream. Also the head, where there is no [`Role::Output`].
    TokenEmbedding,
    /// The RMS norm before the head.
    OutputNorm,
    /// The head: one row per token.
    Output,
    /// One divisor per rotated pair, applied to its frequency (Llama 3's long context).
    RopeFreqs,
    /// The RMS norm before attention.
    AttnNorm,
    /// Queries.
    AttnQ,
    /// Keys.
    AttnK,
    /// Values.
    AttnV,
    /// Attention back to the residual stream.
    AttnOut,
    /// Bias of the queries.
    AttnQBias,
    /// Bias of the keys.
    AttnKBias,
    /// Bias of the values.
    AttnVBias,
    /// RMS norm of each query head.
    AttnQNorm,
    /// RMS norm of each key head.
    AttnKNorm,
    /// The RMS norm before the feed-forward.
    FfnNorm,
    /// The half of the feed-forward that goes through SiLU.
    FfnGate,
    /// The half of the feed-forward that is multiplied with it.
    FfnUp,
    /// Feed-forward back to the residual stream.
    FfnDown,
}

/// A tensor that a model wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeightSpec {
    /// Its name in the file.
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// The layer it belongs to, or `None` for the model's own.
    pub layer: Option<usize>,
    /// Its shape in GGUF order: `[length of a row]` or `[length of a row, rows]`.
    pub dims: Vec<u64>,
    /// Whether the model runs without it.
    pub optional: bool,
}

impl WeightSpec {
    /// The length of a row.
    pub fn cols(&self) -> usize {
        self.dims.first().map_or(0, |&n| n as usize)
    }

    /// The number of rows; 1 for a vector.
    pub fn rows(&self) -> usize {
        self.dims.get(1).map_or(1, |&n| n as usize)
    }
}

/// A length that depends on the model.
#[derive(Debug, Clone, Copy)]
enum Dim {
    Hidden,
    Ffn,
    Queries,
    Keys,
    Head,
    RopePairs,
    Vocab,
}

impl Dim {
    fn of(self, config: &ModelConfig) -> u64 {
        let length = match self {
            Self::Hidden => config.hidden,
            Self::Ffn => config.ffn,
            Self::Queries => config.heads * config.head_dim,
            Self::Keys => config.kv_heads * config.head_dim,
            Self::Head => config.head_dim,
            Self::RopePairs => config.rope_dims / 2,
            Self::Vocab => config.vocab,
        };
        length as u64
    }
}

type Row = (Role, &'static str, &'static [Dim]);

/// The model's own tensors.
const MODEL: &[Row] = &[
    (Role::TokenEmbedding, EMBEDDING, &[Dim::Hidden, Dim::Vocab]),
    (Role::OutputNorm, "output_norm.weight", &[Dim::Hidden]),
    (Role::Output, HEAD, &[Dim::Hidden, Dim::Vocab]),
    (Role::RopeFreqs, "rope_freqs.weight", &[Dim::RopePairs]),
];

/// The tensors of each layer; `blk.N.` comes before the name.
const LAYER: &[Row] = &[
    (Role::AttnNorm, "attn_norm.weight", &[Dim::Hidden]),
    (Role::AttnQ, "attn_q.weight", &[Dim::Hidden, Dim::Queries]),
    (Role::AttnK, "attn_k.weight", &[Dim::Hidden, Dim::Keys]),
    (Role::AttnV, "attn_v.weight", &[Dim::Hidden, Dim::Keys]),
    (Role::AttnOut, "attn_output.weight", &[Dim::Queries, Dim::Hidden]),
    (Role::AttnQBias, "attn_q.bias", &[Dim::Queries]),
    (Role::AttnKBias, "attn_k.bias", &[Dim::Keys]),
    (Role::AttnVBias, "attn_v.bias", &[Dim::Keys]),
    (Role::AttnQNorm, "attn_q_norm.weight", &[Dim::Head]),
    (Role::AttnKNorm, "attn_k_norm.weight", &[Dim::Head]),
    (Role::FfnNorm, "ffn_norm.weight", &[Dim::Hidden]),
    (Role::FfnGate, "ffn_gate.weight", &[Dim::Hidden, Dim::Ffn]),
    (Role::FfnUp, "ffn_up.weight", &[Dim::Hidden, Dim::Ffn]),
    (Role::FfnDown, "ffn_down.weight", &[Dim::Ffn, Dim::Hidden]),
];

/// Whether a model has a tensor of this role: `None` for never, else whether it runs without.
fn optional(architecture: &Architecture, tied: bool, role: Role) -> Option<bool> {
    match role {
        Role::Output => (!tied).then_some(false),
        Role::RopeFreqs => Some(true),
        Role::AttnQBias | Role::AttnKBias | Role::AttnVBias => match architecture.qkv_bias {
            Bias::None => None,
            Bias::Optional => Some(true),
            Bias::Required => Some(false),
        },
        Role::AttnQNorm | Role::AttnKNorm => architecture.qk_norm.then_some(false),
        _ => Some(false),
    }
}

/// Every tensor the model wants: its own first, then layer by layer.
pub fn weight_specs(config: &ModelConfig) -> Vec<WeightSpec> {
    let spec = |&(role, name, dims): &Row, layer: Option<usize>| {
        let optional = optional(config.architecture, config.tied, role)?;
        let name = layer.map_or_else(|| name.to_owned(), |n| format!("blk.{n}.{name}"));
        let dims = dims.iter().map(|dim| dim.of(config)).collect();
        Some(WeightSpec { name, role, layer, dims, optional })
    };
    let own = MODEL.iter().filter_map(|row| spec(row, None));
    let layers = (0..config.layers).flat_map(|n| LAYER.iter().filter_map(move |row| spec(row, Some(n))));
    own.chain(layers).collect()
}

/// Finds every tensor the model wants in a file's table: pairs of an index into `tensors` and what the tensor is for,
/// in the order of [`weight_specs`]. Tensors the model does not know are left out.
///
/// # Errors
/// `bad_file` for a missing tensor or a wrong shape (names the tensor and both shapes) and for a name that occurs
/// twice; `unsupported_architecture` for a bias that the architecture does not have, since without it the answers would
/// be wrong.
pub fn match_tensors(config: &ModelConfig, tensors: &[TensorInfo]) -> Result<Vec<(usize, WeightSpec)>> {
    let mut by_name = HashMap::with_capacity(tensors.len());
    for (index, tensor) in tensors.iter().enumerate() {
        if by_name.insert(tensor.name.as_str(), index).is_some() {
            return Err(Error::bad_file(format!("tensor {} occurs twice", tensor.name)));
        }
    }
    let specs = weight_specs(config);
    refuse_unknown_biases(config, tensors, &specs)?;
    let mut found = Vec::with_capacity(specs.len());
    for spec in specs {
        match by_name.get(spec.name.as_str()) {
            Some(&index) => {
                check_shape(&tensors[index], &spec)?;
                found.push((index, spec));
            }
            None if spec.optional => {}
            None => return Err(Error::bad_file(format!("tensor {} of shape {:?} is missing", spec.name, spec.dims))),
        }
    }
    Ok(found)
}

/// GGUF may write trailing dimensions of 1.
fn check_shape(tensor: &TensorInfo, spec: &WeightSpec) -> Result<()> {
    let longest = tensor.dims.len().max(spec.dims.len());
    let padded = |dims: &[u64], i: usize| dims.get(i).copied().unwrap_or(1);
    if (0..longest).all(|i| padded(&tensor.dims, i) == padded(&spec.dims, i)) {
        return Ok(());
    }
    Err(Error::bad_file(format!("tensor {}: expected shape {:?}, found {:?}", spec.name, spec.dims, tensor.dims)))
}

fn refuse_unknown_biases(config: &ModelConfig, tensors: &[TensorInfo], specs: &[WeightSpec]) -> Result<()> {
    let known: HashSet<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    let stray = tensors.iter().map(|t| t.name.as_str()).find(|name| name.ends_with(".bias") && !known.contains(name));
    stray.map_or(Ok(()), |name| {
        let message = format!("tensor {name}: the architecture {} has no such bias", config.architecture.name);
        Err(Error::new(ErrorCode::UnsupportedArchitecture, message))
    })
}
