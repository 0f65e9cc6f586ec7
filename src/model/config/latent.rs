//! Multi-head latent attention: keys and values are projections of a latent vector.

use super::{Keys, MAX_HEAD_DIM, MAX_HIDDEN, unsupported};
use crate::error::{Error, Result};

/// Architectures with latent attention.
const FAMILIES: [&str; 3] = ["deepseek2", "minicpm3", "plm"];

/// The numbers of multi-head latent attention (DeepSeek-V2, <https://arxiv.org/abs/2405.04434>).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latent {
    /// Rank of the latent vector of queries, if there is one.
    pub query_rank: Option<usize>,
    /// Rank of the latent vector of keys and values; even.
    pub rank: usize,
    /// The rotated values of a key, shared by all heads; even.
    pub rope: usize,
    /// Values of a key, with the rotated ones.
    pub key: usize,
    /// Values of a value vector.
    pub value: usize,
    /// Whether keys and values have separate tensors, with the matrices of keys transposed.
    pub is_split: bool,
    /// Multiplier of the logarithm of YaRN's factor, in the factor of attention scores.
    pub log_multiplier: f32,
}

impl Latent {
    /// Reads and checks the keys; `share` is the width of the residual stream divided by the heads.
    pub(super) fn from_keys(keys: &Keys, share: usize) -> Result<Option<Self>> {
        const ROPE: &str = "rope.dimension_count";
        if !FAMILIES.contains(&keys.architecture) {
            return Ok(None);
        }
        let even = |key| keys.even(key, MAX_HEAD_DIM)?.ok_or_else(|| keys.missing(key));
        let (rank, rope) = (even("attention.kv_lora_rank")?, even(ROPE)?);
        let length = |key| keys.count(key, MAX_HEAD_DIM);
        let is_split = length("attention.key_length_mla")?.is_some();
        let names = match is_split {
            true => ["attention.key_length_mla", "attention.value_length_mla"],
            false => ["attention.key_length", "attention.value_length"],
        };
        let key = length(names[0])?.unwrap_or(share);
        let value = match (length(names[1])?, is_split) {
            (None, true) => return Err(keys.missing(names[1])),
            (found, _) => found.unwrap_or(share),
        };
        if key <= rope || value == 0 {
            let [name, rope_name] = [names[0], ROPE].map(|key| keys.name(key));
            let message = format!("metadata `{name}`: expected more than `{rope_name}`, {rope}, found {key}");
            return Err(Error::bad_file(message));
        }
        if let Some(found) = keys.scale("attention.temperature_scale")? {
            let name = keys.name("attention.temperature_scale");
            return Err(unsupported(format!("metadata `{name}`: expected 0, found {found}")));
        }
        let query_rank = keys.count_or_none("attention.q_lora_rank", MAX_HIDDEN)?;
        let log_multiplier = keys.not_negative("rope.scaling.yarn_log_multiplier")?.unwrap_or(0.0);
        Ok(Some(Self { query_rank, rank, rope, key, value, is_split, log_multiplier }))
    }

    /// Width of the key that all heads share: the latent vector, then the rotated values.
    pub fn width(&self) -> usize {
        self.rank + self.rope
    }
}
