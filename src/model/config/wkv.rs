//! RWKV's time mixing.

use super::{Keys, MAX_HEAD_DIM, MAX_HEADS, MAX_HIDDEN, MAX_LAYERS};
use crate::error::Result;

/// Architectures with RWKV's time mixing instead of attention.
const ARCHITECTURES: [&str; 4] = ["rwkv6", "rwkv7", "arwkv7", "rwkv6qwen2"];

/// The numbers of RWKV's layers; 0 where the file lacks a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wkv {
    /// Values of a head.
    pub head_dim: usize,
    /// Heads of k and v, if fewer than heads of r.
    pub kv_heads: usize,
    /// Rank of the low-rank product for decays.
    pub decay: usize,
    /// Rank of the low-rank product for in-context learning rates.
    pub learning_rate: usize,
    /// Rank of the low-rank product for the mix of values with the first layer's values.
    pub value_mix: usize,
    /// Rank of the low-rank product for gates.
    pub gate: usize,
    /// Rank of RWKV-6's low-rank products for the token shift.
    pub shift: usize,
    /// The residual stream is halved after every group of this many layers.
    pub halve_every: usize,
}

impl Wkv {
    /// Reads the keys of an architecture with time mixing.
    pub(super) fn from_keys(keys: &Keys) -> Result<Option<Self>> {
        if !ARCHITECTURES.contains(&keys.architecture) {
            return Ok(None);
        }
        let head_dim = keys.required("wkv.head_size", MAX_HEAD_DIM)?;
        let number = |key, most| Ok(keys.number(key, most)?.unwrap_or(0));
        let rank = |key| number(key, MAX_HIDDEN);
        Ok(Some(Self {
            head_dim,
            kv_heads: number("attention.head_count_kv", MAX_HEADS)?,
            decay: rank("attention.decay_lora_rank")?.max(rank("time_decay_extra_dim")?),
            learning_rate: rank("attention.iclr_lora_rank")?,
            value_mix: rank("attention.value_residual_mix_lora_rank")?,
            gate: rank("attention.gate_lora_rank")?,
            shift: rank("time_mix_extra_dim")?,
            halve_every: number("rescale_every_n_layers", MAX_LAYERS)?,
        }))
    }
}
