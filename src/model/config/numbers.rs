//! Hyperparameters that follow from several keys, or from the tensors.

use super::{Keys, MAX_HEAD_DIM, MAX_HEADS, MAX_VOCAB, PerLayer, unsupported};
use crate::error::{Error, Result};
use crate::formats::file_type_label;
use crate::gguf::{GgmlType, Metadata, TensorInfo};
use crate::model::roles::{EMBEDDING, HEAD};

/// The number of blocks without the last ones, which are for multi-token prediction.
pub(super) fn trunk_layers(keys: &Keys, blocks: usize) -> Result<usize> {
    let name = keys.name("nextn_predict_layers");
    match keys.metadata.u64(&name)?.unwrap_or(0) {
        0 => Ok(blocks),
        _ if keys.reads_caches() => Ok(blocks),
        found if found < blocks as u64 => Ok(blocks - found as usize),
        found => Err(Error::bad_file(format!("metadata `{name}`: expected less than {blocks} layers, found {found}"))),
    }
}

/// Query heads and KV heads, which are as many as query heads where the file does not say.
pub(super) fn heads(keys: &Keys, layers: usize) -> Result<(PerLayer, PerLayer)> {
    const HEADS: &str = "attention.head_count";
    let heads = keys.per_layer(HEADS, layers, MAX_HEADS)?.ok_or_else(|| keys.missing(HEADS))?;
    let kv_heads = keys.per_layer("attention.head_count_kv", layers, MAX_HEADS)?.unwrap_or_else(|| heads.clone());
    for layer in 0..layers {
        let (heads, kv_heads) = (heads.of(layer), kv_heads.of(layer));
        if kv_heads > 0 && (heads == 0 || !heads.is_multiple_of(kv_heads)) {
            let name = keys.name(HEADS);
            let message = format!("metadata `{name}`: {heads} heads do not divide among {kv_heads} kv heads");
            return Err(Error::bad_file(message));
        }
    }
    Ok((heads, kv_heads))
}

/// The error for a number of heads that does not divide the values of a row.
#[inline(never)]
pub(super) fn undivided(keys: &Keys, key: &str, [hidden, heads]: [usize; 2]) -> Error {
    let name = keys.name(key);
    Error::bad_file(format!("metadata `{name}`: {hidden} elements do not divide among {heads} heads"))
}

/// `attention.key_length`, or the residual stream divided by the heads; 0 where no layer has heads, even if the file
/// has the key.
pub(super) fn head_dim(keys: &Keys, hidden: usize, heads: usize, is_encoder: bool) -> Result<usize> {
    if heads == 0 {
        return Ok(0);
    }
    let name = if is_encoder { "attention.head_dim" } else { "attention.key_length" };
    let head_dim = match keys.count(name, MAX_HEAD_DIM)? {
        Some(length) => length,
        None if hidden.is_multiple_of(heads) => hidden / heads,
        None => {
            return Err(undivided(keys, "attention.head_count", [hidden, heads]));
        }
    };
    if !(is_encoder || head_dim.is_multiple_of(2)) || head_dim > MAX_HEAD_DIM {
        let message = format!("head size: expected an even number up to {MAX_HEAD_DIM}, found {head_dim}");
        return Err(Error::bad_file(message));
    }
    match keys.count("attention.value_length", MAX_HEAD_DIM)? {
        Some(value) if value != head_dim => {
            Err(unsupported(format!("keys and values of different length: {head_dim} and {value}")))
        }
        _ => Ok(head_dim),
    }
}

pub(super) fn rope_dims(keys: &Keys, head_dim: usize) -> Result<usize> {
    if head_dim == 0 {
        return Ok(0);
    }
    let dims = keys.count("rope.dimension_count", MAX_HEAD_DIM)?.unwrap_or(head_dim);
    if dims.is_multiple_of(2) && dims <= head_dim {
        return Ok(dims);
    }
    let name = keys.name("rope.dimension_count");
    Err(Error::bad_file(format!("metadata `{name}`: expected an even number up to {head_dim}, found {dims}")))
}

/// The number of tokens. The tokenizer's table decides, then `vocab_size`, then the embedding table.
pub(super) fn vocabulary(keys: &Keys, tensors: &[TensorInfo]) -> Result<usize> {
    let rows = |name: &str| tensors.iter().find(|t| t.name == name).map(|t| t.dims.get(1).copied().unwrap_or(1));
    let tokens = keys.metadata.strings("tokenizer.ggml.tokens")?.map(|tokens| tokens.len() as u64);
    let (source, expected) = match (tokens, keys.count("vocab_size", MAX_VOCAB)?, rows(EMBEDDING)) {
        (Some(tokens), _, _) => ("the tokenizer", tokens),
        (None, Some(size), _) => ("metadata `vocab_size`", size as u64),
        (None, None, Some(rows)) => (EMBEDDING, rows),
        (None, None, None) => return Err(Error::bad_file(format!("tensor {EMBEDDING} is missing"))),
    };
    let tables = if keys.has_other_head() { &[EMBEDDING][..] } else { &[EMBEDDING, HEAD] };
    for &name in tables {
        if let Some(found) = rows(name).filter(|&found| found != expected) {
            return Err(Error::bad_file(format!(
                "vocabulary and head of different size: {source} has {expected} tokens, tensor {name} has {found} rows"
            )));
        }
    }
    match usize::try_from(expected) {
        Ok(vocab) if (1..=MAX_VOCAB).contains(&vocab) => Ok(vocab),
        _ => Err(Error::bad_file(format!("vocabulary: expected 1 to {MAX_VOCAB} tokens, found {expected}"))),
    }
}

/// The name of `general.file_type`, or else of the type that holds most weights.
pub(super) fn quantization(metadata: &Metadata, tensors: &[TensorInfo]) -> Result<&'static str> {
    let stated = metadata.u64("general.file_type")?.and_then(file_type_label);
    Ok(stated.unwrap_or_else(|| {
        let weights = |ty: GgmlType| {
            tensors.iter().filter(|t| t.ty == ty).fold(0_u64, |sum, tensor| sum.saturating_add(tensor.elements()))
        };
        GgmlType::ALL.into_iter().max_by_key(|&ty| weights(ty)).map_or("F32", GgmlType::name)
    }))
}

impl super::ModelConfig {
    /// Values of a row of a prompt: those that enter as an embedding does, and those for deeper layers.
    pub fn row_width(&self) -> usize {
        self.hidden * (1 + self.deep.rows)
    }

    /// Whether rows of images and sounds are multiplied with what embeddings of tokens are multiplied with: not in
    /// Gemma 3 and later (<https://arxiv.org/abs/2503.19786>), nor in models whose deeper layers take rows.
    pub fn scales_rows(&self) -> bool {
        let is_new_gemma = self.architecture.starts_with("gemma") && !["gemma", "gemma2"].contains(&self.architecture);
        self.deep.rows == 0 && !is_new_gemma
    }
}
