//! Metadata that is not implemented: keys that change results are refused by name, other unknown keys become warnings.

use super::{ModelConfig, hadamard, unsupported};
use crate::error::{Error, Result};
use crate::gguf::{Array, Gguf, Metadata, Value, shown};
use crate::model::Pooling;

/// Keys, or prefixes of keys, that change results and are not implemented. `*` stands for the architecture.
const REFUSED: &str = "prism. *.activation. *.adapters. *.attention.compress_ *.attention.indexer. \
    *.attention.kv_lora_rank_swa *.attention.key_length_mla_swa *.attention.value_length_mla_swa \
    *.attention.output_group_count *.attention.output_lora_rank *.attention.output_scale *.attention.value_scale \
    *.attn_res. *.convnext. *.decoder_ *.expert_chunk_feed_forward_length *.expert_group_scale \
    *.expert_latent_length *.experts_per_group *.hash_layer_count *.hrm. *.hyper_connection. *.kda. \
    *.moe_latent_size *.norm_before_ *.ple. *.posnet. *.realtime_ *.router_logit_softcapping *.selector_ \
    *.swiglu_clamp_ *.swin_norm *.target_";

/// Keys, or prefixes of keys, that are read or that change no result.
const KNOWN: &str = "prism.hadamard. general. split. quantize. imatrix. mradermacher. unsloth. webgguf. \
    xielu. tokenizer.chat_template tokenizer.huggingface. tokenizer.rwkv. tokenizer.ggml.model tokenizer.ggml.pre \
    tokenizer.ggml.tokens tokenizer.ggml.token_type tokenizer.ggml.scores tokenizer.ggml.merges \
    tokenizer.ggml.added_tokens tokenizer.ggml.bos_ tokenizer.ggml.eos_ tokenizer.ggml.eot_ tokenizer.ggml.eom_ \
    tokenizer.ggml.unknown_ tokenizer.ggml.seperator_ tokenizer.ggml.separator_ tokenizer.ggml.padding_ \
    tokenizer.ggml.cls_ tokenizer.ggml.mask_ tokenizer.ggml.fim_ tokenizer.ggml.prefix_ tokenizer.ggml.suffix_ \
    tokenizer.ggml.middle_ tokenizer.ggml.add_bos_token tokenizer.ggml.add_eos_token tokenizer.ggml.add_sep_token \
    tokenizer.ggml.add_space_prefix tokenizer.ggml.add_padding_token tokenizer.ggml.remove_extra_whitespaces \
    tokenizer.ggml.precompiled_charsmap tokenizer.ggml.normalizer. tokenizer.ggml.suppress_tokens *.vocab_size \
    *.context_length *.embedding_length *.block_count *.leading_dense_block_count *.feed_forward_length \
    *.expert_count *.expert_used_count *.expert_shared_ *.expert_group_count *.expert_group_used_count \
    *.expert_weights_ *.expert_gating_func *.expert_feed_forward_length *.moe_every_n_layers *.nextn_predict_layers \
    *.n_deepstack_layers *.deepstack_mapping *.hidden_activation *.pooling_type *.logit_scale \
    *.attn_logit_softcapping *.final_logit_softcapping *.residual_scale *.embedding_scale *.use_parallel_residual \
    *.tensor_data_layout *.interleave_moe_layer_step *.full_attention_interval *.num_loops *.skip_loop_final_norm \
    *.token_shift_count *.rescale_every_n_layers *.time_mix_extra_dim *.time_decay_extra_dim \
    *.activation_sparsity_scale *.altup. *.attention.head_count *.attention.max_alibi_bias *.attention.clamp_kqv \
    *.attention.key_length *.attention.value_length *.attention.layer_norm_ *.attention.group_norm_ \
    *.attention.causal *.attention.q_lora_rank *.attention.kv_lora_rank *.attention.decay_lora_rank \
    *.attention.iclr_lora_rank *.attention.value_residual_mix_lora_rank *.attention.gate_lora_rank \
    *.attention.sliding_window *.attention.rope_pattern *.attention.scale *.attention.temperature_ \
    *.attention.shared_kv_layers *.attention.recurrent_layers *.rope.dimension_ *.rope.freq_base *.rope.scale_linear \
    *.rope.section_order *.rope.scaling.type *.rope.scaling.factor *.rope.scaling.alpha *.rope.scaling.attn_factor \
    *.rope.scaling.original_context_length *.rope.scaling.finetuned *.rope.scaling.yarn_ *.ssm. *.wkv. *.shortconv. \
    *.classifier.output_labels *.classifier.pooling_type *.dense_";

/// Keys, or prefixes of keys, of the first list that some architectures read.
const READ_BY: [(&str, &str); 7] = [
    ("adapters.", "graniteswitch"),
    ("attention.relative_buckets_count", "t5 t5encoder"),
    ("moe_latent_size", "nemotron_h nemotron_h_moe maion-coder"),
    ("hrm.", "hrm_text"),
    ("decoder_start_token_id", "t5 t5encoder"),
    ("decoder_block_count", "t5 t5encoder"),
    ("realtime_delay_tokens", "mistral3"),
];

/// Whether the architecture reads a key that others do not.
fn is_read(key: &str, architecture: &str) -> bool {
    let own = key.strip_prefix(architecture).and_then(|key| key.strip_prefix('.'));
    let reads = |users: &str| users.split(' ').any(|user| user == architecture);
    own.is_some_and(|own| READ_BY.iter().any(|(start, users)| own.starts_with(start) && reads(users)))
}

/// Whether a list has this key or a prefix of it.
fn is_in(list: &str, key: &str, architecture: &str) -> bool {
    list.split_whitespace().any(|start| match start.strip_prefix('*') {
        Some(rest) => key.strip_prefix(architecture).is_some_and(|key| key.starts_with(rest)),
        None => key.starts_with(start),
    })
}

/// Whether a value switches its feature off: false, 0, empty.
pub(super) fn is_none(value: &Value) -> bool {
    match value {
        Value::Bool(is) => !is,
        Value::String(text) => text.is_empty(),
        Value::F32(number) => *number == 0.0,
        Value::F64(number) => *number == 0.0,
        Value::Array(array) => is_zero(array),
        Value::U8(0) | Value::I8(0) | Value::U16(0) | Value::I16(0) => true,
        Value::U32(0) | Value::I32(0) | Value::U64(0) | Value::I64(0) => true,
        _ => false,
    }
}

fn is_zero(array: &Array) -> bool {
    match array {
        Array::U32(numbers) => numbers.iter().all(|&number| number == 0),
        Array::I32(numbers) => numbers.iter().all(|&number| number == 0),
        Array::F32(numbers) => numbers.iter().all(|&number| number == 0.0),
        other => other.is_empty(),
    }
}

impl ModelConfig {
    /// The same with notes on what the file asks for and is not done.
    ///
    /// # Errors
    /// `unsupported_architecture` for a key that changes all results; `bad_file` for a reranker without its head.
    pub(in crate::model) fn with_notes(mut self, gguf: &Gguf) -> Result<Self> {
        self.notes = check(gguf, &self)?;
        self.notes.extend(crate::model::tensors::notes(&self, &gguf.tensors));
        Ok(self)
    }
}

/// Warnings about what the file asks for and is not done.
///
/// # Errors
/// `unsupported_architecture` for a key that changes all results; `bad_file` for a reranker without its head.
pub(super) fn check(gguf: &Gguf, config: &ModelConfig) -> Result<Vec<String>> {
    let metadata = &gguf.metadata;
    let mut notes = Vec::new();
    for key in metadata.keys() {
        let is_set = metadata.get(key).is_some_and(|value| !is_none(value));
        // The keys of rotations are checked where they are read.
        let is_read = key.starts_with(hadamard::PREFIX) || is_read(key, config.architecture);
        if is_set && !is_read && is_in(REFUSED, key, config.architecture) {
            return Err(unsupported(format!("metadata `{}`: what it asks for is not supported", shown(key))));
        }
        if is_set && !is_read && !is_in(KNOWN, key, config.architecture) {
            notes.push(format!("metadata `{}` is not known: what it asks for is left out", shown(key)));
        }
    }
    check_pooling(metadata, config, &mut notes)?;
    notes.extend(unused(metadata, config.architecture));
    // A file may have any number of keys.
    notes.truncate(MOST_NOTES);
    Ok(notes)
}

const MOST_NOTES: usize = 16;

fn check_pooling(metadata: &Metadata, config: &ModelConfig, notes: &mut Vec<String>) -> Result<()> {
    let key = format!("{}.pooling_type", config.architecture);
    let has_head = ["cls.weight", "cls.output.weight"].iter().any(|name| config.has_tensor(name));
    match config.embedder.pooling {
        Some(Pooling::Rank) if !has_head => {
            Err(Error::bad_file(format!("tensor cls.output.weight is missing: metadata `{key}` says a reranker")))
        }
        None if metadata.u64(&key)?.unwrap_or(0) > 0 => {
            let only = format!("models of architecture {} write text alone here", config.architecture);
            notes.push(format!("metadata `{key}`: {only}"));
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Numbers and the architectures that use them. In other architectures they are ignored.
const USED_BY: [(&str, &str); 9] = [
    ("attn_logit_softcapping", "gemma2"),
    ("final_logit_softcapping", "gemma2 gemma3 gemma3n gemma4"),
    ("attention.scale", "granite granitemoe granite_swa granitehybrid graniteswitch"),
    ("attention.clamp_kqv", "bloom mpt olmo"),
    ("attention.max_alibi_bias", "bloom mpt baichuan refact jais jina-bert-v2"),
    ("attention.temperature_scale", "mistral3 deepseek2"),
    ("embedding_scale", "granite granitemoe granite_swa granitehybrid graniteswitch minicpm minicpm3 hrm_text"),
    ("residual_scale", "granite granitemoe granite_swa granitehybrid graniteswitch minicpm minicpm3"),
    ("logit_scale", "granite granitemoe granite_swa granitehybrid graniteswitch minicpm minicpm3 command-r cohere2"),
];

/// Warnings about numbers of the file that the family does not use.
fn unused(metadata: &Metadata, architecture: &str) -> impl Iterator<Item = String> {
    USED_BY.iter().filter_map(move |(key, users)| {
        let name = format!("{architecture}.{key}");
        let is_unused = !users.split(' ').any(|user| user == architecture);
        (is_unused && metadata.get(&name).is_some_and(|value| !is_none(value)))
            .then(|| format!("metadata `{name}` is left out: models of architecture {architecture} have no use for it"))
    })
}
