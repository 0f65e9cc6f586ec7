//! Numbers that differ from layer to layer, and how often the layers run.

use super::{Keys, MAX_DEEP_ROWS, MAX_LAYERS};
use crate::error::{Error, Result};
use crate::model::Xielu;

/// Architectures whose files say which layers further rows are for.
const MAPPED: [&str; 2] = ["granite", "granite_swa"];

/// How often the stack of layers runs. Each run has its own KV cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loops {
    /// The number of runs, at least 1.
    pub count: usize,
    /// Whether the final norm is also applied between two runs.
    pub normed: bool,
    /// The stacks that HRM-Text's layers belong to.
    pub stacks: Stacks,
}

/// Two stacks of as many layers, which run in turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stacks {
    /// Layers of a stack.
    pub layers: usize,
    /// Runs of the high stack.
    pub high: usize,
    /// Runs of the low stack before each run of the high one.
    pub low: usize,
}

impl Stacks {
    /// `layers` counts a layer as often as it runs.
    fn from_keys(keys: &Keys, layers: usize) -> Result<Self> {
        if keys.architecture != "hrm_text" {
            return Ok(Self::default());
        }
        let count = |key| keys.required(key, layers);
        let [size, high, low] = [count("hrm.layers_per_stack")?, count("hrm.h_cycles")?, count("hrm.l_cycles")?];
        let expected = size * high * (low + 1);
        if expected != layers {
            let name = keys.name("block_count");
            let message = format!("metadata `{name}`: expected {expected} layers in all runs, found {layers}");
            return Err(Error::bad_file(message));
        }
        Ok(Self { layers: size, high, low })
    }
}

/// Further rows of images for deeper layers (DeepStack, Meng et al. 2024, <https://arxiv.org/abs/2406.04334>).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeepRows {
    /// How many a row of an image brings beside the one that enters as an embedding.
    pub rows: usize,
    /// A layer, and which of the further rows is added behind it.
    pub at: Vec<[usize; 2]>,
}

impl DeepRows {
    /// `n_deepstack_layers`: the rows of the first layers in order; in Granite `deepstack_mapping`: of each layer the
    /// number of what is added before it, from 1 on, or a negative number.
    ///
    /// # Errors
    /// `unsupported_architecture` where the row itself is added before a layer again.
    pub(super) fn from_keys(keys: &Keys, layers: usize) -> Result<Self> {
        let name = keys.name("deepstack_mapping");
        let mapping = if MAPPED.contains(&keys.architecture) { keys.metadata.i32s(&name)? } else { None };
        let Some(mapping) = mapping else {
            let rows = keys.number("n_deepstack_layers", layers.min(MAX_DEEP_ROWS))?.unwrap_or(0);
            return Ok(Self { rows, at: (0..rows).map(|row| [row, row]).collect() });
        };
        if mapping.len() != layers {
            let found = mapping.len();
            return Err(Error::bad_file(format!("metadata `{name}`: expected {layers} numbers, found {found}")));
        }
        let mut at = Vec::new();
        for (layer, &number) in mapping.iter().enumerate().skip(1).filter(|(_, number)| **number >= 0) {
            match number as usize {
                row @ 1..=MAX_DEEP_ROWS => at.push([layer - 1, row - 1]),
                0 => {
                    return Err(super::unsupported(format!(
                        "metadata `{name}`: expected numbers other than 0, found 0"
                    )));
                }
                row => {
                    return Err(Error::bad_file(format!(
                        "metadata `{name}`: expected up to {MAX_DEEP_ROWS}, found {row}"
                    )));
                }
            }
        }
        let rows = at.iter().map(|[_, row]| row + 1).max().unwrap_or(0);
        match (0..rows).find(|row| at.iter().all(|[_, found]| found != row)) {
            Some(row) => {
                Err(Error::bad_file(format!("metadata `{name}`: expected all of 1 to {rows}, {} is missing", row + 1)))
            }
            None => Ok(Self { rows, at }),
        }
    }
}

/// The numbers that only a T5 has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct T5 {
    /// Buckets of distances, for which attention has learned biases.
    pub buckets: usize,
    /// The decoder, where the file has one.
    pub decoder: Option<Decoder>,
}

impl T5 {
    pub(super) fn from_keys(keys: &Keys, layers: usize) -> Result<Self> {
        Ok(Self { buckets: keys.distance_buckets()?, decoder: Decoder::from_keys(keys, layers)? })
    }
}

/// The decoder of a model whose encoder reads a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoder {
    /// The number of layers.
    pub layers: usize,
    /// The token that its text begins with.
    pub start: u32,
}

impl Decoder {
    /// `decoder_block_count`, by default the layers of the encoder, and `decoder_start_token_id`, by default 0, which
    /// is T5's padding.
    pub(super) fn from_keys(keys: &Keys, layers: usize) -> Result<Option<Self>> {
        if keys.architecture != "t5" {
            return Ok(None);
        }
        let start = keys.number("decoder_start_token_id", super::MAX_VOCAB)?.unwrap_or(0) as u32;
        Ok(Some(Self { layers: keys.count("decoder_block_count", MAX_LAYERS)?.unwrap_or(layers), start }))
    }
}

impl Loops {
    /// `num_loops` and `skip_loop_final_norm`.
    pub(super) fn from_keys(keys: &Keys, layers: usize) -> Result<Self> {
        let count = keys.count("num_loops", MAX_LAYERS / layers.max(1))?.unwrap_or(1);
        let skips = keys.metadata.bool(&keys.name("skip_loop_final_norm"))?.unwrap_or(false);
        Ok(Self { count, normed: !skips, stacks: Stacks::from_keys(keys, layers)? })
    }
}

/// The xIELU activation of each layer, from keys without an architecture's prefix; empty where the file has none.
///
/// # Errors
/// `bad_file` where one of the keys is missing or has another count, and for numbers that are not finite.
pub(super) fn xielu(keys: &Keys, layers: usize) -> Result<Vec<Xielu>> {
    let metadata = keys.metadata;
    let names = ["xielu.alpha_p", "xielu.alpha_n", "xielu.beta", "xielu.eps"];
    if names.iter().all(|name| metadata.get(name).is_none()) {
        return Ok(Vec::new());
    }
    let of_layers = |name: &str| -> Result<Vec<f32>> {
        let found = match metadata.f32(name) {
            Ok(Some(same)) => vec![same; layers],
            Ok(None) => return Err(Error::bad_file(format!("metadata `{name}` is missing"))),
            Err(_) => metadata.f32s(name)?.unwrap_or_default(),
        };
        // Files also count the blocks for multi-token prediction.
        if found.len() < layers || found.iter().any(|x| !x.is_finite()) {
            let message = format!("metadata `{name}`: expected {layers} finite numbers, found {} numbers", found.len());
            return Err(Error::bad_file(message));
        }
        Ok(found)
    };
    let [positive, negative, beta, eps] = names.map(of_layers);
    let (positive, negative, beta, eps) = (positive?, negative?, beta?, eps?);
    let of = |layer: usize| Xielu {
        positive: softplus(positive[layer]),
        negative: beta[layer] + softplus(negative[layer]),
        beta: beta[layer],
        eps: eps[layer],
    };
    Ok((0..layers).map(of).collect())
}

fn softplus(x: f32) -> f32 {
    if x > 20.0 { x } else { x.exp().ln_1p() }
}
