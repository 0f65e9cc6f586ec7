//! RWKV's time mixing.

use super::{Keys, MAX_HEAD_DIM, MAX_HEADS, MAX_HIDDEN, MAX_LAYERS};
use crate::error::Result;

/// The numbers of RWKV's layers; 0 where the file has none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wkv {
    /// Values of a head.
    pub head_dim: usize,
    /// Heads of k and v, where they are fewer than those of r.
    pub kv_heads: usize,
    /// Values that decays are made of.
    pub decay: usize,
    /// Values that learning rates are made of.
    pub learning_rate: usize,
    /// Values that say how far values go to those of the first layer.
    pub value_mix: usize,
    /// Values that gates are made of.
    pub gate: usize,
    /// Values that each share of the token before is made of.
    pub shift: usize,
    /// After so many layers the residual stream is halved.
    pub halve_every: usize,
}

impl Wkv {
    /// Reads the keys, if the file has the first of them.
    pub(super) fn from_keys(keys: &Keys) -> Result<Option<Self>> {
        let Some(head_dim) = keys.number("wkv.head_size", MAX_HEAD_DIM)? else { return Ok(None) };
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
