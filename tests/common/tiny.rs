//! A tiny model made of nothing but numbers: headers to read settings from, and random weights to run.
#![allow(dead_code, reason = "each test uses its part")]

use webgguf::cpu::{CacheFormat, CpuModel};
use webgguf::gguf::{Array, GgmlType, Gguf, Metadata, TensorInfo, Value, row_bytes};
use webgguf::model::ModelConfig;
use webgguf::model::{Role, weight_specs};

pub const VOCAB: usize = 37;

/// Families whose models have experts.
const EXPERTS: &[&str] = &[
    "qwen3moe",
    "qwen2moe",
    "olmoe",
    "gpt-oss",
    "granitemoe",
    "lfm2moe",
    "qwen35moe",
    "qwen3next",
    "smallthinker",
    "ernie4_5-moe",
    "qwen3vlmoe",
    "phimoe",
    "bailingmoe",
    "bailingmoe2",
    "deepseek",
    "deepseek2",
    "deepseek2-ocr",
    "nomic-bert-moe",
    "mellum",
    "afmoe",
    "nemotron_h_moe",
    "maion-coder",
];

/// The metadata of a model of 2 layers, 4 heads of 8 and 2 kv heads.
pub fn metadata(architecture: &str) -> Metadata {
    let mut metadata = Metadata::new();
    metadata.insert("general.architecture", Value::String(architecture.into()));
    let numbers = [
        ("block_count", 2),
        ("context_length", 128),
        ("embedding_length", 32),
        ("feed_forward_length", 48),
        ("attention.head_count", 4),
        ("attention.head_count_kv", 2),
    ];
    for (key, number) in numbers {
        metadata.insert(format!("{architecture}.{key}"), Value::U32(number));
    }
    metadata.insert(format!("{architecture}.attention.layer_norm_rms_epsilon"), Value::F32(1e-5));
    if EXPERTS.contains(&architecture) {
        metadata.insert(format!("{architecture}.expert_count"), Value::U32(6));
        metadata.insert(format!("{architecture}.expert_used_count"), Value::U32(2));
    }
    let tokens = (0..VOCAB).map(|n| format!("t{n}")).collect();
    metadata.insert("tokenizer.ggml.tokens", Value::Array(Array::Strings(tokens)));
    for (key, value) in recurrent_keys(architecture, 32).into_iter().chain(own_keys(architecture)) {
        metadata.insert(key, value);
    }
    metadata
}

/// Keys without which a family would be another.
fn own_keys(architecture: &str) -> Vec<(String, Value)> {
    let own = |key: &str, value: Value| vec![(format!("{architecture}.{key}"), value)];
    match architecture {
        "apertus" => {
            let keys = [("alpha_p", 0.3), ("alpha_n", 0.6), ("beta", 0.5), ("eps", -1e-6)];
            keys.map(|(key, number)| (format!("xielu.{key}"), Value::F32(number))).into()
        }
        "bailingmoe" | "bailingmoe2" | "deepseek" | "deepseek2-ocr" | "afmoe" => {
            let keys = [("expert_feed_forward_length", 256), ("expert_shared_count", 2)];
            keys.map(|(key, number)| (format!("{architecture}.{key}"), Value::U32(number))).into()
        }
        "deepseek2" => {
            let latent = [("kv_lora_rank", 32), ("key_length_mla", 36), ("value_length_mla", 64)];
            let latent = latent.map(|(key, number)| (format!("attention.{key}"), number));
            let experts =
                [("expert_feed_forward_length", 256), ("expert_shared_count", 2), ("rope.dimension_count", 4)];
            let keys = latent.into_iter().chain(experts.map(|(key, number)| (key.to_owned(), number)));
            keys.map(|(key, number)| (format!("{architecture}.{key}"), Value::U32(number))).collect()
        }
        "minicpm3" => {
            let keys = [("attention.q_lora_rank", 256), ("attention.kv_lora_rank", 12), ("rope.dimension_count", 4)];
            keys.map(|(key, number)| (format!("{architecture}.{key}"), Value::U32(number))).into()
        }
        "gemma-embedding2" => own("embedding_length_per_layer_input", Value::U32(256)),
        "nomic-bert-moe" => own("moe_every_n_layers", Value::U32(2)),
        "granite_swa" | "spark2_5" | "lfm3" => {
            let layers = Value::Array(Array::Bool(vec![architecture != "lfm3", architecture == "lfm3"]));
            let keys = [("sliding_window", Value::U32(24)), ("sliding_window_pattern", layers)];
            keys.map(|(key, value)| (format!("{architecture}.attention.{key}"), value)).into()
        }
        "graniteswitch" => {
            let tokens = |of: [i32; 2]| Value::Array(Array::I32(of.into()));
            let keys = [("count", Value::U32(2)), ("lora_rank", Value::U32(256))];
            let lists = [("token_ids_activate", tokens([3, 5])), ("token_ids_substitute", tokens([7, 3]))];
            let keys = keys.into_iter().chain(lists);
            keys.map(|(key, value)| (format!("{architecture}.adapters.{key}"), value)).collect()
        }
        "hrm_text" => {
            let keys = ["layers_per_stack", "h_cycles", "l_cycles"];
            keys.map(|key| (format!("{architecture}.hrm.{key}"), Value::U32(1))).into()
        }
        "maion-coder" => {
            let layers = Value::Array(Array::Bool(vec![true, false]));
            let keys = [("attention.sliding_window", 24), ("moe_latent_size", 256), ("interleave_moe_layer_step", 2)];
            let keys = keys.map(|(key, number)| (key, Value::U32(number)));
            let keys = keys.into_iter().chain([("attention.sliding_window_pattern", layers)]);
            keys.map(|(key, value)| (format!("{architecture}.{key}"), value)).collect()
        }
        "plm" => {
            let keys = [("attention.kv_lora_rank", 12), ("rope.dimension_count", 4)];
            keys.map(|(key, number)| (format!("{architecture}.{key}"), Value::U32(number))).into()
        }
        "t5" | "t5encoder" => own("attention.relative_buckets_count", Value::U32(32)),
        "mpt" => own("attention.max_alibi_bias", Value::F32(6.0)),
        "nanbeige" => own("num_loops", Value::U32(2)),
        "olmo" => own("attention.clamp_kqv", Value::F32(1.5)),
        "cohere2" | "smallthinker" | "mellum" | "plamo3" => own("attention.sliding_window", Value::U32(24)),
        _ => Vec::new(),
    }
}

/// The keys of layers with a recurrent state, of two layers with a residual stream of this width.
pub fn recurrent_keys(architecture: &str, hidden: u32) -> Vec<(String, Value)> {
    let number = Value::U32;
    let ssm = [("conv_kernel", 4), ("inner_size", 2 * hidden), ("state_size", 8), ("time_step_rank", 4)];
    let keys = match architecture {
        "lfm2" | "lfm3" => vec![
            ("shortconv.l_cache".to_owned(), number(3)),
            ("attention.head_count_kv".to_owned(), Value::Array(Array::I32(vec![0, 2]))),
        ],
        "nemotron_h" | "nemotron_h_moe" => {
            let ssm = ssm.into_iter().chain([("group_count", 2)]);
            let layers = |of: [i32; 2]| Value::Array(Array::I32(of.into()));
            // With experts, they take the place of attention.
            let [kv_heads, ffn] = if architecture == "nemotron_h" { [2, 0] } else { [0, 512] };
            let kinds = [
                ("attention.head_count_kv", layers([0, kv_heads])),
                ("feed_forward_length", layers([0, ffn])),
                ("expert_shared_feed_forward_length", number(256)),
            ];
            let ssm = ssm.map(|(key, count)| (format!("ssm.{key}"), number(count)));
            ssm.chain(kinds.map(|(key, of)| (key.to_owned(), of))).collect()
        }
        "plamo2" => {
            let layers = ("attention.head_count_kv".to_owned(), Value::Array(Array::I32(vec![0, 2])));
            let ssm = ssm.into_iter().chain([("group_count", 0)]);
            ssm.map(|(key, count)| (format!("ssm.{key}"), number(count))).chain([layers]).collect()
        }
        "mamba" | "jamba" => {
            let [kernel, inner, state, (rank, _)] = ssm;
            let ssm = [kernel, inner, state, (rank, 256)].map(|(key, count)| (format!("ssm.{key}"), number(count)));
            let layers = ("attention.head_count_kv".to_owned(), Value::Array(Array::I32(vec![0, 2])));
            ssm.into_iter().chain((architecture == "jamba").then_some(layers)).collect()
        }
        "rwkv6" | "rwkv6qwen2" => {
            let keys = [("wkv.head_size", hidden / 4), ("time_mix_extra_dim", 256), ("time_decay_extra_dim", 512)];
            keys.map(|(key, count)| (key.to_owned(), number(count))).into()
        }
        "rwkv7" | "arwkv7" => {
            let ranks = ["decay", "iclr", "value_residual_mix", "gate"];
            let ranks = ranks.map(|of| (format!("attention.{of}_lora_rank"), number(256)));
            ranks.into_iter().chain([("wkv.head_size".to_owned(), number(hidden / 4))]).collect()
        }
        "mamba2" | "falcon-h1" | "granitehybrid" => {
            let ssm = ssm.into_iter().chain([("group_count", 2)]);
            ssm.map(|(key, count)| (format!("ssm.{key}"), number(count))).collect()
        }
        "qwen35" | "qwen35moe" | "qwen3next" => {
            let heads = [("state_size", hidden / 4), ("time_step_rank", 4), ("group_count", 2)];
            let ssm = [("conv_kernel", 4), ("inner_size", hidden)].into_iter().chain(heads);
            let ssm = ssm.map(|(key, count)| (format!("ssm.{key}"), number(count)));
            ssm.chain([("full_attention_interval".to_owned(), number(2))]).collect()
        }
        _ => Vec::new(),
    };
    keys.into_iter().map(|(key, value)| (format!("{architecture}.{key}"), value)).collect()
}

pub fn tensor(name: &str, dims: &[u64]) -> TensorInfo {
    let bytes = dims.iter().product::<u64>() * 4;
    TensorInfo { name: name.into(), ty: GgmlType::F32, dims: dims.to_vec(), offset: 0, bytes, part: 0 }
}

/// A header with an embedding table of 37 rows of 32 and a head.
pub fn header(metadata: Metadata) -> Gguf {
    let tensors = vec![tensor("token_embd.weight", &[32, VOCAB as u64]), tensor("output.weight", &[32, VOCAB as u64])];
    Gguf { version: 3, metadata, tensors, header_bytes: 0, alignment: 32, digest: 0 }
}

pub fn config(architecture: &str) -> ModelConfig {
    webgguf::model::config(&header(metadata(architecture))).expect("a good header")
}

/// The table of all tensors that the model wants, optional ones included.
pub fn tensors(config: &ModelConfig) -> Vec<TensorInfo> {
    typed_tensors(config, |_| GgmlType::F32)
}

/// The same, with matrices in the type that `ty` says.
pub fn typed_tensors(config: &ModelConfig, ty: impl Fn(Role) -> GgmlType) -> Vec<TensorInfo> {
    let mut tensors: Vec<TensorInfo> = Vec::new();
    for spec in weight_specs(config) {
        let dims = spec.tensor_dims();
        let ty = if spec.values { GgmlType::F32 } else { ty(spec.role) };
        let bytes = row_bytes(ty, dims[0]).expect("whole blocks") * dims[1..].iter().product::<u64>();
        // A tensor of several weights comes once.
        if !tensors.iter().any(|tensor| tensor.name == spec.name) {
            tensors.push(TensorInfo { ty, bytes, ..tensor(&spec.name, &dims) });
        }
    }
    tensors
}

/// Numbers between -1 and 1, the same for the same seed (a linear congruential generator, upper bits).
pub fn random(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

pub fn f32_bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// A model with random weights; norms and RoPE factors are near 1.
pub fn model(config: &ModelConfig, context_length: usize, cache: CacheFormat) -> CpuModel {
    let mut builder = CpuModel::builder(config.clone());
    for (seed, spec) in weight_specs(config).iter().enumerate() {
        let mut numbers = random(seed as u64 + 1, spec.tensor_dims().iter().product::<u64>() as usize);
        for x in &mut numbers {
            *x = match spec.role {
                Role::TokenEmbedding | Role::AttnQBias | Role::AttnKBias | Role::AttnVBias => *x,
                Role::SsmA => -1.5 - *x,
                _ if spec.dims.len() == 1 => 1.0 + 0.3 * *x,
                _ => *x * (3.0 / spec.cols() as f32).sqrt(),
            };
        }
        builder.put(spec, GgmlType::F32, f32_bytes(&numbers)).expect("bytes that fit");
    }
    builder.build(context_length, cache).expect("all tensors")
}
