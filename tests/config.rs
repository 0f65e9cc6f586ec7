//! Metadata → settings, and the tensors that a model wants.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/tiny.rs"]
mod tiny;

use tiny::{VOCAB, config, header, metadata, tensor, tensors};
use webgguf::ErrorCode::{self, BadFile, UnsupportedArchitecture};
use webgguf::gguf::{Array, GgmlType, Metadata, Value};
use webgguf::model::ModelConfig;
use webgguf::model::program::{AttentionSpec, Keys, Norm, Op, Program, RopeTable};
use webgguf::model::{Drafter, Masks, PerLayer, RopeStyle, YarnRamp, architectures, match_tensors, weight_specs};

fn with(key: &str, value: Value) -> webgguf::Result<ModelConfig> {
    let mut metadata = metadata("llama");
    metadata.insert(key, value);
    webgguf::model::config(&header(metadata))
}

/// All pairs but those whose key starts like this.
fn without(metadata: &Metadata, start: &str) -> Metadata {
    let pairs = metadata.keys().filter(|key| !key.starts_with(start));
    pairs.map(|key| (key.to_owned(), metadata.get(key).cloned().unwrap())).collect()
}

/// The numbers of a tiny model with these keys, whose names have no architecture in front.
fn with_keys(architecture: &str, keys: &[(&str, Value)]) -> webgguf::Result<ModelConfig> {
    let mut metadata = metadata(architecture);
    for (key, value) in keys {
        metadata.insert(format!("{architecture}.{key}"), value.clone());
    }
    webgguf::model::config(&header(metadata))
}

/// The program of such a model.
fn program_with(architecture: &str, keys: &[(&str, Value)]) -> Program {
    webgguf::model::program(&with_keys(architecture, keys).expect("good settings"))
}

/// The attention of each layer, and how its queries are rotated.
fn attentions(program: &Program) -> Vec<(AttentionSpec, Option<RopeTable>)> {
    let of_layer = |ops: &Vec<Op>| {
        let attention = ops.iter().find_map(Op::attention).expect("attention");
        let table = ops.iter().find_map(|op| match op {
            Op::Rope { table, .. } => Some(program.rope_tables[*table]),
            _ => None,
        });
        (attention, table)
    };
    program.layers.iter().map(of_layer).collect()
}

fn rope_style(config: &ModelConfig) -> RopeStyle {
    webgguf::model::program(config).rope_tables[0].style
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: webgguf::Result<T>, code: ErrorCode, parts: &[&str]) {
    let error = result.expect_err("must be refused");
    assert_eq!(error.code(), code, "{error}");
    for part in parts {
        assert!(error.message().contains(part), "{part:?} not in {error}");
    }
}

#[test]
fn reads_every_number() {
    let mut metadata = metadata("qwen3");
    for (key, value) in [
        ("general.name", Value::String("Tiny".into())),
        ("general.file_type", Value::U32(15)),
        ("qwen3.attention.key_length", Value::U32(16)),
        ("qwen3.attention.value_length", Value::U32(16)),
        ("qwen3.rope.freq_base", Value::F32(1e6)),
        ("qwen3.rope.dimension_count", Value::U32(12)),
        ("qwen3.rope.scaling.type", Value::String("linear".into())),
        ("qwen3.rope.scaling.factor", Value::F32(4.0)),
    ] {
        metadata.insert(key, value);
    }
    let mut gguf = header(metadata);
    gguf.tensors.pop();
    let config = webgguf::model::config(&gguf).unwrap();
    assert_eq!((config.architecture, rope_style(&config)), ("qwen3", RopeStyle::SplitHalf));
    assert_eq!((config.name.as_deref(), config.quantization), (Some("Tiny"), "Q4_K_M"));
    assert_eq!((config.layers, config.hidden, config.ffn), (2, 32, PerLayer::All(48)));
    assert_eq!((config.heads, config.kv_heads), (PerLayer::All(4), PerLayer::All(2)));
    assert_eq!((config.head_dim, config.rope_dims), (16, 12));
    assert_eq!((config.rope_theta, config.rope_scaling.scale, config.norm_eps), (1e6, 0.25, 1e-5));
    assert_eq!((config.context_length, config.vocab, config.tied), (128, VOCAB, true));
    assert_eq!(config.parameters, 32 * VOCAB as u64);
}

#[test]
fn fills_in_defaults() {
    let mut metadata = without(&metadata("llama"), "llama.attention.head_count_kv");
    metadata.insert("general.file_type", Value::U32(999));
    let mut gguf = header(metadata);
    gguf.tensors[0].ty = GgmlType::Q8_0;
    gguf.tensors[0].dims = vec![32, VOCAB as u64, 1];
    gguf.tensors.push(tensor("more", &[32]));
    let config = webgguf::model::config(&gguf).unwrap();
    assert_eq!((config.head_dim, config.rope_dims), (8, 8));
    assert_eq!((config.rope_theta, config.rope_scaling.scale), (10_000.0, 1.0));
    assert_eq!((config.name.as_deref(), config.tied), (None, false));
    assert_eq!(config.quantization, "F32", "the type of most weights");
    assert_eq!(config.kv_heads, config.heads);
}

#[test]
fn linear_scaling_in_all_its_spellings() {
    assert_eq!(with("llama.rope.scaling.factor", Value::F32(2.0)).unwrap().rope_scaling.scale, 0.5);
    assert_eq!(with("llama.rope.scale_linear", Value::F32(8.0)).unwrap().rope_scaling.scale, 0.125);
    for key in ["llama.rope.scaling.factor", "llama.rope.scale_linear"] {
        assert_eq!(with(key, Value::F32(0.0)).unwrap().rope_scaling.scale, 1.0, "{key} of 0 is none");
    }
    let mut metadata = metadata("llama");
    metadata.insert("llama.rope.scaling.type", Value::String("none".into()));
    metadata.insert("llama.rope.scaling.factor", Value::F32(2.0));
    assert_eq!(webgguf::model::config(&header(metadata)).unwrap().rope_scaling.scale, 1.0);
}

#[test]
fn yarn_scales_some_pairs_and_grows() {
    let of = |more: &[(&str, f32)]| {
        let mut metadata = metadata("llama");
        metadata.insert("llama.rope.scaling.type", Value::String("yarn".into()));
        metadata.insert("llama.rope.scaling.original_context_length", Value::U32(64));
        for (key, value) in [("factor", 16.0)].iter().chain(more) {
            metadata.insert(format!("llama.rope.scaling.{key}"), Value::F32(*value));
        }
        webgguf::model::config(&header(metadata))
    };
    let ramp = |beta_fast, beta_slow| Some(YarnRamp { original_context: 64, beta_fast, beta_slow });
    let scaling = of(&[]).unwrap().rope_scaling;
    assert_eq!((scaling.scale, scaling.yarn), (1.0 / 16.0, ramp(32.0, 1.0)));
    assert!((scaling.magnitude - (1.0 + 0.1 * 16f32.ln())).abs() < 1e-6);
    let scaling = of(&[("yarn_beta_fast", 8.0), ("yarn_beta_slow", 0.5), ("attn_factor", 3.0)]).unwrap().rope_scaling;
    assert_eq!(scaling.yarn, ramp(8.0, 0.5));
    assert!((scaling.magnitude - 3.0 * (1.0 + 0.1 * 16f32.ln())).abs() < 1e-6);
    assert_eq!(of(&[("yarn_log_multiplier", 1.0)]).unwrap().rope_scaling.magnitude, 1.0);
    refused(of(&[("yarn_beta_fast", -1.0)]), BadFile, &["yarn_beta_fast", "found -1"]);
    refused(of(&[("factor", -1.0)]), BadFile, &["factor", "found -1"]);
    // OLMo 3's file says YaRN's magnitude, Grok's 1: both are what is computed anyway.
    for (key, value) in [("yarn_attn_factor", 1.277_259), ("yarn_attn_factor", 1.0), ("yarn_ext_factor", 1.0)] {
        assert_eq!(of(&[(key, value)]).unwrap().rope_scaling, of(&[]).unwrap().rope_scaling, "{key} {value}");
    }
    let said = ["yarn_attn_factor", "expected 1.27", "or 1, found 1.3"];
    refused(of(&[("yarn_attn_factor", 1.3)]), UnsupportedArchitecture, &said);
    refused(of(&[("yarn_ext_factor", 0.0)]), UnsupportedArchitecture, &["yarn_ext_factor", "expected 1", "found 0"]);
}

#[test]
fn refuses_numbers_out_of_range() {
    let cases = [
        ("llama.block_count", Value::U32(0), "found 0"),
        ("llama.block_count", Value::U32(1001), "expected 1 to 1000, found 1001"),
        ("llama.block_count", Value::I32(-1), "-1"),
        ("llama.block_count", Value::F32(2.0), "found f32"),
        ("llama.embedding_length", Value::U64(u64::MAX), "found 18446744073709551615"),
        ("llama.context_length", Value::U64(1 << 40), "found 1099511627776"),
        ("llama.attention.head_count", Value::U32(12), "32 elements do not divide among 12 heads"),
        ("llama.attention.head_count_kv", Value::U32(3), "4 heads do not divide among 3 kv heads"),
        ("llama.attention.head_count_kv", Value::U32(8), "4 heads do not divide among 8 kv heads"),
        ("llama.attention.key_length", Value::U32(7), "even number up to 1024, found 7"),
        ("llama.attention.key_length", Value::U32(2048), "found 2048"),
        ("llama.rope.dimension_count", Value::U32(10), "even number up to 8, found 10"),
        ("llama.rope.dimension_count", Value::U32(3), "found 3"),
        ("llama.rope.dimension_count", Value::U32(0), "found 0"),
        ("llama.rope.freq_base", Value::F32(f32::NAN), "found NaN"),
        ("llama.rope.freq_base", Value::F32(0.0), "found 0"),
        ("llama.rope.freq_base", Value::F32(-1.0), "found -1"),
        ("llama.rope.scaling.factor", Value::F32(f32::INFINITY), "found inf"),
        ("llama.rope.scaling.factor", Value::F32(1e-45), "found 0.0"),
        ("llama.attention.layer_norm_rms_epsilon", Value::F32(f32::NAN), "found NaN"),
        ("llama.attention.layer_norm_rms_epsilon", Value::F32(-1e-5), "found -0.00001"),
    ];
    for (key, value, part) in cases {
        println!("{key} {value:?}");
        // A message about two numbers names the key too, except where the number was derived.
        let name = if key.ends_with("key_length") || key.ends_with("_kv") { "" } else { key };
        refused(with(key, value), BadFile, &[name, part]);
    }
}

#[test]
fn a_head_without_key_length_must_be_even_too() {
    let mut metadata = metadata("llama");
    metadata.insert("llama.embedding_length", Value::U32(20));
    refused(webgguf::model::config(&header(metadata)), BadFile, &["head size", "found 5"]);
}

#[test]
fn names_missing_keys() {
    for key in [
        "block_count",
        "context_length",
        "embedding_length",
        "feed_forward_length",
        "attention.head_count",
        "attention.layer_norm_rms_epsilon",
    ] {
        let rest = without(&metadata("llama"), &format!("llama.{key}"));
        refused(webgguf::model::config(&header(rest)), BadFile, &[key, "missing"]);
    }
    refused(webgguf::model::config(&header(Metadata::new())), BadFile, &["general.architecture"]);
}

#[test]
fn refuses_what_it_does_not_run() {
    let text = |s: &str| Value::String(s.into());
    for (name, nearest) in [("gemma-3", "gemma3"), ("phi3small", "phi3"), ("granite2", "granite")] {
        let said = format!("{name:?} is not supported, the nearest known is {nearest:?} of llama, qwen2, qwen3");
        refused(with("general.architecture", text(name)), UnsupportedArchitecture, &[&said]);
    }
    for name in ["mamba3", "bart", "deepseek32", "kimi-linear"] {
        let said = [&format!("architecture {name:?} is not supported, the nearest known is"), "llama, qwen2, qwen3"];
        refused(with("general.architecture", text(name)), UnsupportedArchitecture, &said);
    }
    refused(with("llama.rope.scaling.type", text("su")), UnsupportedArchitecture, &["su", "linear", "yarn"]);
    let mut with_experts = metadata("gemma");
    with_experts.insert("gemma.expert_count", Value::U32(8));
    with_experts.insert("gemma.expert_used_count", Value::U32(2));
    refused(webgguf::model::config(&header(with_experts)), UnsupportedArchitecture, &["gemma.expert_count", "8"]);
    refused(with("llama.attention.value_length", Value::U32(16)), UnsupportedArchitecture, &["8", "16"]);
    let array = Value::Array(Array::I32(vec![4, 2]));
    refused(with("llama.embedding_length", array), UnsupportedArchitecture, &["llama.embedding_length", "array of 2"]);
}

#[test]
fn latent_attention_needs_its_numbers() {
    let with = |key: &str, value: Option<Value>| {
        let name = format!("deepseek2.{key}");
        let mut metadata = without(&metadata("deepseek2"), &name);
        if let Some(value) = value {
            metadata.insert(name, value);
        }
        webgguf::model::config(&header(metadata))
    };
    let number = |number| Some(Value::U32(number));
    for key in ["attention.kv_lora_rank", "rope.dimension_count", "attention.value_length_mla"] {
        refused(with(key, None), BadFile, &[key, "is missing"]);
    }
    refused(with("attention.kv_lora_rank", number(15)), BadFile, &["attention.kv_lora_rank", "even", "15"]);
    refused(with("attention.kv_lora_rank", number(0)), BadFile, &["attention.kv_lora_rank", "1 to 1024", "0"]);
    refused(with("rope.dimension_count", number(36)), BadFile, &["attention.key_length_mla", "more than", "36"]);
    refused(with("attention.q_lora_rank", number(1 << 20)), BadFile, &["attention.q_lora_rank", "1048576"]);
    refused(with("attention.head_count", number(1 << 9 | 1)), BadFile, &["at most 512", "513"]);
    let temperature = Some(Value::F32(0.1));
    refused(with("attention.temperature_scale", temperature), UnsupportedArchitecture, &["temperature_scale", "0.1"]);
    let config = with("attention.key_length", number(20)).expect("llama.cpp does not read it either");
    assert_eq!((config.head_dim, config.kv_heads.max()), (36, 1));
}

#[test]
fn numbers_may_differ_by_layer() {
    let array = |values: &[i32]| Value::Array(Array::I32(values.to_vec()));
    let config = with("llama.attention.head_count_kv", array(&[4, 2])).unwrap();
    assert_eq!((config.kv_heads.of(0), config.kv_heads.of(1), config.kv_heads.max()), (4, 2, 4));
    let widths = |name: &str| -> Vec<u64> {
        weight_specs(&config).iter().filter(|spec| spec.name.ends_with(name)).map(|spec| spec.dims[1]).collect()
    };
    assert_eq!(widths("attn_k.weight"), [32, 16]);
    for key in ["llama.attention.head_count", "llama.attention.head_count_kv", "llama.feed_forward_length"] {
        refused(with(key, array(&[4])), BadFile, &[key, "1 values for 2 layers"]);
        refused(with(key, array(&[4, -2])), BadFile, &[key, "found -2"]);
    }
    let zeros = [
        ("llama.attention.head_count", "0 heads do not divide among 2 kv heads", "0 heads"),
        ("llama.attention.head_count_kv", "`k`", "`k`"),
        ("llama.feed_forward_length", "`gate`", "`gate`"),
    ];
    for (key, of_layer, of_all) in zeros {
        refused(with(key, array(&[4, 0])), BadFile, &[of_layer, "0"]);
        refused(with(key, Value::U32(0)), BadFile, &[of_all, "0"]);
    }
}

#[test]
fn vocabulary_and_head_must_agree() {
    for (tensor, found) in [(0, "token_embd.weight has 40"), (1, "output.weight has 40")] {
        let mut gguf = header(metadata("llama"));
        gguf.tensors[tensor].dims[1] = 40;
        let parts = ["vocabulary and head of different size", "the tokenizer has 37 tokens", found];
        refused(webgguf::model::config(&gguf), BadFile, &parts);
    }
    let mut gguf = header(metadata("llama"));
    gguf.tensors = vec![tensor("more", &[32])];
    assert_eq!(webgguf::model::config(&gguf).unwrap().vocab, VOCAB);
}

#[test]
fn without_a_tokenizer_the_key_or_the_table_decides() {
    let mut rest = without(&metadata("llama"), "tokenizer.");
    assert_eq!(webgguf::model::config(&header(rest.clone())).unwrap().vocab, VOCAB);
    rest.insert("llama.vocab_size", Value::U32(36));
    refused(webgguf::model::config(&header(rest)), BadFile, &["vocab_size", "36 tokens", "37 rows"]);
}

#[test]
fn architectures_differ_where_they_should() {
    let names = |architecture: &str| {
        let specs = weight_specs(&config(architecture)).into_iter().filter(|s| s.layer == Some(1) && !s.optional);
        specs.map(|spec| spec.name.trim_start_matches("blk.1.").to_owned()).collect::<Vec<_>>()
    };
    let llama = names("llama");
    assert_eq!(llama.len(), 9, "{llama:?}");
    let beyond = |other: &str| names(other).into_iter().filter(|name| !llama.contains(name)).collect::<Vec<_>>();
    assert_eq!(beyond("qwen2"), [""; 0]);
    assert_eq!(beyond("starcoder2")[1..4], ["attn_q.bias", "attn_k.bias", "attn_v.bias"]);
    assert_eq!(beyond("qwen3"), ["attn_q_norm.weight", "attn_k_norm.weight"]);
    assert_eq!(beyond("gemma"), [""; 0]);
    let post_norms = ["post_attention_norm.weight", "post_ffw_norm.weight"];
    assert_eq!(beyond("gemma2"), post_norms);
    let mut gemma3 = beyond("gemma3");
    gemma3.sort();
    assert_eq!(gemma3, ["attn_k_norm.weight", "attn_q_norm.weight", post_norms[0], post_norms[1]]);
    let post_norms = ["attn_output_norm.weight", "attn_output_norm.bias"];
    let of_sums = ["layer_output_norm.weight", "layer_output_norm.bias"];
    let encoder = [post_norms, of_sums].concat();
    assert_eq!(beyond("bert"), encoder);
    assert_eq!(beyond("nomic-bert"), encoder);
    assert_eq!(beyond("modern-bert"), [""; 0]);
    assert_eq!(beyond("gemma-embedding").len(), 4);
    let gated = ["attn_q_norm.weight", "attn_k_norm.weight", "post_attention_norm.weight"];
    assert_eq!(beyond("qwen35"), gated, "attn_q has the gates");
    assert_eq!(beyond("lfm2"), ["attn_q_norm.weight", "attn_k_norm.weight"]);
    let bare = ["attn_q_norm.weight", "attn_k_norm.weight", "post_attention_norm", "post_ffw_norm"];
    assert_eq!(beyond("plamo2"), bare);
    let of_ssm = ["ssm_in.weight"; 3].into_iter();
    let of_ssm = of_ssm.chain(["ssm_conv1d.weight", "ssm_dt.bias", "ssm_a", "ssm_d", "ssm_out.weight"]);
    let mamba2: Vec<&str> = of_ssm.collect();
    assert_eq!(beyond("mamba2"), mamba2);
    assert_eq!(beyond("granitehybrid"), [""; 0]);
    assert_eq!(beyond("falcon-h1"), [&mamba2[..], &["ffn_norm"]].concat());
    let experts = ["ffn_gate_inp.weight", "ffn_gate_exps.weight", "ffn_up_exps.weight", "ffn_down_exps.weight"];
    assert_eq!(beyond("qwen3moe"), [&["attn_q_norm.weight", "attn_k_norm.weight"], &experts[..]].concat());
    let gpt_oss = beyond("gpt-oss");
    assert!(
        experts
            .iter()
            .chain(&["attn_sinks.weight", "ffn_down_exps.bias"])
            .all(|name| gpt_oss.contains(&(*name).into()))
    );
}

#[test]
fn late_layers_of_gemma_3n_share_keys_and_early_ones_have_sparse_gates() {
    let mut metadata = metadata("gemma3n");
    metadata.insert("gemma3n.block_count", Value::U32(25));
    metadata.insert("gemma3n.attention.sliding_window", Value::U32(24));
    let program = webgguf::model::program(&webgguf::model::config(&header(metadata)).unwrap());
    for (layer, ops) in program.layers.iter().enumerate() {
        let attend = ops.iter().find_map(|op| match op {
            Op::Attend { kv, keys: Keys::Cached(cache), attention, .. } => {
                Some((kv.is_some(), *cache, attention.window))
            }
            _ => None,
        });
        let slides = layer % 5 < 4;
        let cache = if layer < 20 { layer } else { 20 - if slides { 2 } else { 1 } };
        assert_eq!(attend, Some((layer < 20, cache, slides.then_some(24))), "layer {layer}");
        assert_eq!(ops.iter().any(|op| matches!(op, Op::Spread { .. })), layer < 10 || layer == 24, "layer {layer}");
    }
}

#[test]
fn finds_every_tensor_whatever_else_is_there() {
    for architecture in architectures() {
        let config = config(architecture);
        let mut tensors = tensors(&config);
        let wanted = weight_specs(&config).len();
        tensors.insert(0, tensor("blk.0.attn_rot_embd", &[3]));
        tensors.reverse();
        tensors.iter_mut().for_each(|t| t.dims.push(1));
        let found = match_tensors(&config, &tensors).unwrap();
        assert_eq!(found.len(), wanted);
        assert!(found.iter().all(|(index, spec)| tensors[*index].name == spec.name));
    }
}

#[test]
fn names_the_tensor_and_both_shapes() {
    let config = config("gptneox");
    let without = |name: &str| tensors(&config).into_iter().filter(|t| t.name != name).collect::<Vec<_>>();
    refused(match_tensors(&config, &without("blk.1.attn_k.bias")), BadFile, &["blk.1.attn_k.bias", "[16]", "missing"]);
    refused(match_tensors(&config, &without("output_norm.weight")), BadFile, &["output_norm.weight", "[32]"]);
    assert!(match_tensors(&config, &without("rope_freqs.weight")).is_ok());

    let reshaped = |name: &str, dims: &[u64]| {
        let mut tensors = tensors(&config);
        tensors.iter_mut().filter(|t| t.name == name).for_each(|t| t.dims = dims.to_vec());
        match_tensors(&config, &tensors)
    };
    refused(reshaped("blk.0.ffn_down.weight", &[32, 48]), BadFile, &["blk.0.ffn_down.weight", "[48, 32]", "[32, 48]"]);
    refused(reshaped("blk.0.attn_norm.weight", &[32, 2]), BadFile, &["blk.0.attn_norm.weight", "[32]", "[32, 2]"]);
    refused(reshaped("blk.0.attn_q.weight", &[32]), BadFile, &["[32, 32]", "found [32]"]);
}

#[test]
fn vectors_of_one_tensor_lie_one_after_the_other() {
    let config = config("rwkv7");
    let name = "blk.0.time_mix_lerp_fused.weight";
    let shaped = |dims: &[u64]| {
        let mut tensors = tensors(&config);
        tensors.iter_mut().filter(|t| t.name == name).for_each(|t| t.dims = dims.to_vec());
        match_tensors(&config, &tensors)
    };
    let shares = tensors(&config).iter().find(|t| t.name == name).expect("shares in one tensor").elements() / 32;
    assert!(shaped(&[32, 1, 1, shares]).is_ok());
    refused(shaped(&[shares, 32]), BadFile, &[name, &format!("found [{shares}, 32]")]);
}

#[test]
fn refuses_twins_stray_biases_and_stray_scales() {
    let config = config("qwen3");
    let mut twins = tensors(&config);
    twins.push(twins[3].clone());
    refused(match_tensors(&config, &twins), BadFile, &["twice"]);
    for name in ["blk.0.attn_q_norm.bias", "blk.1.attn_output.bias", "blk.0.attn_q.scale", "blk.0.ffn_up_exps.scale"] {
        let mut stray = tensors(&config);
        stray.push(tensor(name, &[32]));
        refused(match_tensors(&config, &stray), UnsupportedArchitecture, &[name, "qwen3"]);
    }
}

#[test]
fn refuses_files_of_older_converters_by_name() {
    let config = config("qwen3moe");
    let mut all: Vec<_> = tensors(&config).into_iter().filter(|t| !t.name.contains("_exps")).collect();
    refused(match_tensors(&config, &all), BadFile, &["blk.0.ffn_gate_exps.weight", "missing"]);
    all.push(tensor("blk.0.ffn_gate.0.weight", &[32, 48]));
    let said = ["blk.0.ffn_gate_exps.weight", "blk.0.ffn_gate.0.weight", "take a newer file"];
    refused(match_tensors(&config, &all), UnsupportedArchitecture, &said);

    let config = self::config("qwen3next");
    let mut all: Vec<_> = tensors(&config).into_iter().filter(|t| t.name != "blk.0.attn_qkv.weight").collect();
    all.push(tensor("blk.0.ssm_in.weight", &[32, 64]));
    refused(match_tensors(&config, &all), UnsupportedArchitecture, &["blk.0.ssm_in.weight", "take a newer file"]);
}

#[test]
fn refuses_files_of_a_block_without_its_model() {
    let config = config("qwen35");
    let embedding = tensors(&config).into_iter().filter(|t| !t.name.starts_with("blk."));
    let all: Vec<_> = embedding.chain([tensor("blk.2.nextn.eh_proj.weight", &[64, 32])]).collect();
    refused(match_tensors(&config, &all), ErrorCode::InvalidArgument, &["multi-token prediction alone"]);
}

/// As in PLaMo 2, whose first layer is one of Mamba.
#[test]
fn heads_are_rotated_where_the_first_layer_has_none() {
    let mut metadata = metadata("plamo2");
    metadata.insert("plamo2.attention.head_count", Value::Array(Array::I32(vec![0, 4])));
    metadata.insert("plamo2.attention.key_length", Value::U32(12));
    let config = webgguf::model::config(&header(metadata)).expect("a good header");
    assert_eq!((config.head_dim, config.rope_dims), (12, 12));
    let rotations = |layer: usize| {
        let program = webgguf::model::program(&config);
        program.layers[layer].iter().filter(|op| matches!(op, Op::Rope { .. })).count()
    };
    assert_eq!([rotations(0), rotations(1)], [0, 2]);
}

/// PLaMo 2 has a decay for each head as a vector, where Mamba-2 has a column.
#[test]
fn dimensions_of_1_do_not_matter_where_values_are_read() {
    let config = config("plamo2");
    let with = |name: &str, dims: &[u64]| {
        let mut all = tensors(&config);
        all.iter_mut().find(|tensor| tensor.name == name).expect(name).dims = dims.to_vec();
        match_tensors(&config, &all)
    };
    for dims in [&[4][..], &[4, 1], &[1, 4], &[1, 1, 4]] {
        assert!(with("blk.0.ssm_a", dims).is_ok(), "{dims:?}");
    }
    refused(with("blk.0.ssm_a", &[5]), BadFile, &["blk.0.ssm_a", "[1, 4]", "[5]"]);
    refused(with("blk.0.ssm_a", &[2, 2]), BadFile, &["blk.0.ssm_a", "[1, 4]", "[2, 2]"]);
    refused(with("blk.0.ssm_dt.weight", &[64, 1, 4]), BadFile, &["blk.0.ssm_dt.weight", "[64, 4]", "[64, 1, 4]"]);
}

#[test]
fn numbers_of_recurrent_layers_are_checked() {
    let with = |architecture: &str, key: &str, value: u32| {
        let mut metadata = metadata(architecture);
        metadata.insert(format!("{architecture}.{key}"), Value::U32(value));
        webgguf::model::config(&header(metadata))
    };
    for (key, value, expected) in [
        ("ssm.conv_kernel", 1, "layer 0: tokens of a convolution: expected 2 to 16, found 1"),
        ("ssm.conv_kernel", 17, "expected 2 to 16, found 17"),
        ("ssm.state_size", 513, "state of a scan: expected 1 to 512, found 513"),
        ("ssm.group_count", 3, "4 heads of a scan do not divide among 3 groups"),
        ("ssm.inner_size", 3, "`z`"),
        ("ssm.time_step_rank", 0, "found 0"),
    ] {
        refused(with("mamba2", key, value), BadFile, &[expected]);
    }
    for (key, value, expected) in [
        ("ssm.conv_kernel", 1, "layer 0: tokens of a convolution: expected 2 to 16, found 1"),
        ("ssm.state_size", 513, "layer 0: state of a scan: expected 1 to 512, found 513"),
        ("ssm.inner_size", 3, "layer 0: width of `z`: expected at least 1, found 0"),
        ("ssm.time_step_rank", 0, "found 0"),
    ] {
        refused(with("plamo2", key, value), BadFile, &[expected]);
    }
    for (key, value, expected) in [
        ("ssm.state_size", 257, "values of a head of a delta rule: expected 1 to 256, found 257"),
        ("ssm.group_count", 3, "layer 0: 4 heads of v do not divide among 3 heads of k"),
        ("full_attention_interval", 0, "expected 1 to 1000, found 0"),
        ("nextn_predict_layers", 2, "expected less than 2 layers, found 2"),
    ] {
        refused(with("qwen35", key, value), BadFile, &[expected]);
    }
    assert_eq!(with("qwen35", "nextn_predict_layers", 1).unwrap().layers, 1);
    for kernel in [1, 9] {
        refused(with("lfm2", "shortconv.l_cache", kernel), BadFile, &[&format!("found {kernel}")]);
    }
    let halves = "layer 0: 32 values do not divide among heads of 5";
    for (key, value, expected) in [
        ("wkv.head_size", 0, "metadata `rwkv7.wkv.head_size`: expected 1 to 1024, found 0"),
        ("wkv.head_size", 257, "values of a head of time mixing: expected 1 to 256, found 257"),
        ("wkv.head_size", 5, halves),
        ("attention.decay_lora_rank", 0, "layer 0: width of `decay low rank`: expected at least 1, found 0"),
        ("attention.iclr_lora_rank", 0, "layer 0: width of `iclr low rank`: expected at least 1, found 0"),
        ("feed_forward_length", 0, "layer 0: width of `up`: expected at least 1, found 0"),
    ] {
        refused(with("rwkv7", key, value), BadFile, &[expected]);
    }
    refused(with("rwkv6", "time_mix_extra_dim", 0), BadFile, &["width of `low ranks`", "found 0"]);
    refused(with("rwkv6", "wkv.head_size", 5), BadFile, &[halves]);
    assert!(with("llama", "wkv.head_size", 5).is_ok(), "a key of another architecture");
    let heads = "layer 0: 4 heads of r do not divide among 3 heads of k";
    refused(with("rwkv6qwen2", "attention.head_count_kv", 3), BadFile, &[heads]);
    refused(with("mamba", "ssm.state_size", 513), BadFile, &["state of a scan", "1 to 512", "513"]);
    // Converters write sizes of heads that are none.
    for key in ["attention.key_length", "attention.value_length", "rope.dimension_count"] {
        let mut metadata = metadata("mamba2");
        for key in ["attention.head_count", "attention.head_count_kv", key] {
            metadata.insert(format!("mamba2.{key}"), Value::U32(0));
        }
        assert_eq!(webgguf::model::config(&header(metadata)).map(|config| config.head_dim), Ok(0), "{key}");
    }
    for (architecture, start, said) in [
        ("mamba2", "mamba2.ssm.", "layer 0"),
        ("mamba", "mamba.ssm.", "layer 0"),
        ("qwen35", "qwen35.ssm.", "layer 0"),
        ("rwkv7", "rwkv7.wkv.", "`rwkv7.wkv.head_size` is missing"),
    ] {
        let without_sizes = header(without(&metadata(architecture), start));
        refused(webgguf::model::config(&without_sizes), BadFile, &[said]);
    }
}

#[test]
fn pairs_in_no_section_do_not_turn() {
    // 4 pairs.
    let of = |architecture: &str, sections: [i32; 4]| {
        let mut metadata = metadata(architecture);
        let sections = Value::Array(Array::I32(sections.to_vec()));
        metadata.insert(format!("{architecture}.rope.dimension_sections"), sections);
        webgguf::model::config(&header(metadata))
    };
    let with_sections = |sections| of("qwen35", sections);
    assert!(with_sections([2, 1, 1, 0]).is_ok());
    // One after the other: the fourth section has positions of its own, 0 for text.
    let turning = |config: ModelConfig| (0..4).map(move |pair| config.rope_sections.unwrap().axis(pair).is_some());
    assert!(turning(of("qwen2vl", [1, 1, 2, 0]).unwrap()).all(|turns| turns));
    assert!(turning(of("qwen2vl", [1, 1, 1, 1]).unwrap()).eq([true, true, true, false]));
    // As good as none: GLM-4's pairs are then neighbours.
    let glm4 = of("glm4", [0; 4]).unwrap();
    assert_eq!((glm4.rope_sections, rope_style(&glm4)), (None, RopeStyle::Interleaved));
    assert_eq!(rope_style(&of("glm4", [2, 1, 1, 0]).unwrap()), RopeStyle::SplitHalf);
    // By turns: the fourth pair is the second one of the first axis.
    assert!(turning(with_sections([1, 1, 1, 1]).unwrap()).eq([true, true, true, false]));
    refused(with_sections([-1, 0, 0, 0]), UnsupportedArchitecture, &["dimension_sections", "none of 4 pairs"]);
}

#[test]
fn orders_of_sections_are_known_or_refused() {
    let of = |order: &str, fourth: i32| {
        let mut metadata = metadata("qwen2vl");
        metadata.insert("qwen2vl.rope.dimension_sections", Value::Array(Array::I32(vec![1, 1, 1, fourth])));
        metadata.insert("qwen2vl.rope.section_order", Value::String(order.into()));
        webgguf::model::config(&header(metadata))
    };
    assert!(of("tyxz", 1).is_ok() && of("zyxt", 0).is_ok());
    refused(of("zyxt", 1), UnsupportedArchitecture, &["section_order", "1 pairs in the fourth section"]);
    refused(of("xyzt", 0), UnsupportedArchitecture, &["section_order", "expected tyxz or zyxt, found \"xyzt\""]);
}

#[test]
fn layers_that_take_further_rows_are_named_or_refused() {
    let of = |numbers: Vec<i32>| {
        let mut metadata = metadata("granite");
        let layers = metadata.u64("granite.block_count").unwrap().unwrap() as usize;
        let mapping: Vec<i32> = numbers.into_iter().chain([-1; 16]).take(layers).collect();
        metadata.insert("granite.deepstack_mapping", Value::Array(Array::I32(mapping)));
        webgguf::model::config(&header(metadata))
    };
    let none = of(vec![0, -1]).expect("no further rows");
    assert_eq!((none.row_width(), none.deep.at.len()), (none.hidden, 0));
    let one = of(vec![-1, 1]).expect("rows for the second layer");
    assert_eq!((one.row_width(), one.deep.at, one.deep.rows), (2 * one.hidden, vec![[0, 0]], 1));
    refused(of(vec![-1, 0]), UnsupportedArchitecture, &["deepstack_mapping", "other than 0"]);
    refused(of(vec![-1, 2]), BadFile, &["deepstack_mapping", "all of 1 to 2, 1 is missing"]);
    refused(of(vec![-1, 9]), BadFile, &["deepstack_mapping", "expected up to 8, found 9"]);
    let mut short = metadata("granite");
    short.insert("granite.deepstack_mapping", Value::Array(Array::I32(vec![-1])));
    refused(webgguf::model::config(&header(short)), BadFile, &["deepstack_mapping", "numbers, found 1"]);
}

#[test]
fn each_kind_of_norm_has_an_epsilon_of_its_own() {
    let eps = |architecture: &str, keys: &[&str]| -> Vec<f32> {
        let mut metadata = without(&metadata(architecture), &format!("{architecture}.attention.layer_norm"));
        for (key, eps) in [("layer_norm_epsilon", 0.25), ("layer_norm_rms_epsilon", 0.5)] {
            if keys.contains(&key) {
                metadata.insert(format!("{architecture}.attention.{key}"), Value::F32(eps));
            }
        }
        let program = webgguf::model::program(&webgguf::model::config(&header(metadata)).unwrap());
        let norms = program.ops().filter_map(|op| match op {
            Op::Norm { norm: Norm { eps, .. }, .. } => Some(*eps),
            _ => None,
        });
        norms.collect()
    };
    let both = ["layer_norm_epsilon", "layer_norm_rms_epsilon"];
    for (architecture, expected) in [
        ("llama", 0.5),
        ("neo-bert", 0.5),
        ("nemotron_h", 0.5),
        ("bert", 0.25),
        ("modern-bert", 0.25),
        ("command-r", 0.25),
        ("olmo", 0.25),
        ("stablelm", 0.25),
        ("gpt2", 0.25),
        ("rwkv7", 0.25),
    ] {
        let found = eps(architecture, &both);
        assert!(!found.is_empty() && found.iter().all(|&eps| eps == expected), "{architecture}: {found:?}");
    }
    // A file may have one for the other.
    assert!(eps("llama", &both[..1]).iter().all(|&eps| eps == 0.25));
    assert!(eps("gpt2", &both[1..]).iter().all(|&eps| eps == 0.5));
}

#[test]
fn embedders_of_a_family_that_writes_text_are_refused() {
    let causal = |architecture, is_causal| with_keys(architecture, &[("attention.causal", Value::Bool(is_causal))]);
    let said = ["metadata `lfm2.attention.causal`", "expected true, found false", "lfm2 writes text alone"];
    refused(causal("lfm2", false), UnsupportedArchitecture, &said);
    assert!(causal("lfm2", true).unwrap().embedder.causal);
    assert!(!causal("qwen3", false).unwrap().embedder.causal);
    assert!(!causal("bert", false).unwrap().embedder.causal);
}

#[test]
fn truths_of_layers_may_be_numbers() {
    const PATTERN: &str = "attention.sliding_window_pattern";
    let slides = |layers: Array| {
        let keys = [("attention.sliding_window", Value::U32(9)), (PATTERN, Value::Array(layers))];
        let attentions = attentions(&program_with("gemma3", &keys));
        attentions.iter().map(|(attention, _)| attention.window.is_some()).collect::<Vec<_>>()
    };
    assert_eq!(slides(Array::Bool(vec![false, true])), [false, true]);
    assert_eq!(slides(Array::I32(vec![0, 1])), [false, true]);
    assert_eq!(slides(Array::U32(vec![1, 0])), [true, false]);
    let fractions = with_keys("gemma3", &[(PATTERN, Value::Array(Array::F32(vec![0.5])))]);
    refused(fractions, BadFile, &[PATTERN, "bools or integers", "found array of"]);
}

#[test]
fn a_file_without_the_sizes_of_its_scans_is_refused() {
    for architecture in ["mamba2", "falcon-h1", "granitehybrid", "nemotron_h"] {
        let mut metadata = without(&metadata(architecture), &format!("{architecture}.ssm."));
        let kv_heads = Value::Array(Array::I32(vec![0, 2]));
        metadata.insert(format!("{architecture}.attention.head_count_kv"), kv_heads);
        let mut gguf = header(metadata);
        gguf.tensors.push(tensor("blk.0.ssm_norm.weight", &[32, 2]));
        refused(webgguf::model::config(&gguf), BadFile, &["layer 0"]);
    }
}

#[test]
fn windows_of_modern_bert_have_a_rotation_of_their_own() {
    let keys = [
        ("block_count", Value::U32(3)),
        ("attention.sliding_window", Value::U32(9)),
        ("rope.freq_base", Value::F32(160_000.0)),
        ("rope.scaling.factor", Value::F32(4.0)),
    ];
    let rotations = |more: &[(&str, Value)]| {
        let attentions = attentions(&program_with("modern-bert", &[&keys, more].concat()));
        let of = |(attention, table): &(AttentionSpec, Option<RopeTable>)| {
            let table = table.expect("a rotation");
            (attention.window.is_some(), table.theta, table.scaling.scale)
        };
        attentions.iter().map(of).collect::<Vec<_>>()
    };
    let full = (false, 160_000.0, 0.25);
    assert_eq!(rotations(&[]), [full, (true, 10_000.0, 1.0), (true, 10_000.0, 1.0)]);
    let stated = rotations(&[("rope.freq_base_swa", Value::F32(5e4))]);
    assert_eq!(stated, [full, (true, 5e4, 1.0), (true, 5e4, 1.0)]);
}

#[test]
fn keys_that_one_family_reads_change_no_other() {
    let same = |architecture: &str, key: &str, value: Value| {
        program_with(architecture, &[(key, value)]) == program_with(architecture, &[])
    };
    for (key, value, readers, others) in [
        ("attention.scale", 0.3, &["granite", "granitemoe", "granitehybrid", "granite_swa"][..], &["arcee", "minicpm"]),
        ("rope.scaling.alpha", 8.0, &["hunyuan_vl", "hunyuan-dense"], &["llama", "qwen3"]),
    ] {
        for architecture in readers {
            assert!(!same(architecture, key, Value::F32(value)), "{architecture} has no {key}");
        }
        for architecture in others {
            assert!(same(architecture, key, Value::F32(value)), "{architecture} reads {key}");
        }
    }
    const USED: &str = "rope.scaling.finetuned";
    for (architecture, expected) in [("granite", false), ("granitehybrid", false), ("granitemoe", true)] {
        assert_eq!(same(architecture, USED, Value::Bool(false)), expected, "{architecture}");
    }
}

#[test]
fn biases_of_queries_keys_and_values_may_be_there_or_not() {
    for architecture in ["qwen2", "qwen2moe", "qwen3", "qwen3moe"] {
        let config = config(architecture);
        let is_bias = |name: &str| ["q", "k", "v"].iter().any(|of| name.ends_with(&format!("attn_{of}.bias")));
        let all = tensors(&config);
        assert_eq!(all.iter().filter(|tensor| is_bias(&tensor.name)).count(), 6, "{architecture}");
        assert!(match_tensors(&config, &all).is_ok());
        let fewer: Vec<_> = all.into_iter().filter(|tensor| !is_bias(&tensor.name)).collect();
        assert!(match_tensors(&config, &fewer).is_ok());
    }
}

#[test]
fn a_classifier_is_left_out_where_a_text_becomes_a_vector() {
    let with_classifier = |pooling| {
        let config = with_keys("bert", &[("pooling_type", Value::U32(pooling))]).unwrap();
        let mut all = tensors(&config);
        all.extend([tensor("cls.weight", &[32, 32]), tensor("cls.bias", &[32])]);
        match_tensors(&config, &all)
    };
    for vector in [1, 2, 3] {
        assert!(with_classifier(vector).is_ok());
    }
    refused(with_keys("bert", &[("pooling_type", Value::U32(4))]), BadFile, &["cls.output.weight is missing"]);
}

#[test]
fn windows_keep_the_files_factor_of_cosines_and_sines() {
    let scaling = |kind: &str| {
        let keys = [
            ("attention.sliding_window", Value::U32(9)),
            ("attention.sliding_window_pattern", Value::Array(Array::Bool(vec![true, false]))),
            ("rope.scaling.type", Value::String(kind.into())),
            ("rope.scaling.factor", Value::F32(4.0)),
            ("rope.scaling.attn_factor", Value::F32(1.5)),
        ];
        let attentions = attentions(&program_with("gemma3", &keys));
        [0, 1].map(|layer| attentions[layer].1.expect("a rotation").scaling)
    };
    for (kind, full) in [("linear", 1.5), ("yarn", 1.5 * (1.0 + 0.1 * 4f32.ln()))] {
        let [sliding, other] = scaling(kind);
        assert_eq!((sliding.scale, sliding.yarn), (1.0, None), "{kind}");
        assert_eq!(other.scale, 0.25, "{kind}");
        assert!((sliding.magnitude - 1.5).abs() < 1e-6 && (other.magnitude - full).abs() < 1e-6, "{kind}");
    }
}

#[test]
fn activations_of_modern_bert_are_those_that_are_here() {
    let with = |name: &str| with_keys("modern-bert", &[("hidden_activation", Value::String(name.into()))]);
    assert_ne!(with("silu").unwrap().embedder.gate, with("gelu").unwrap().embedder.gate);
    assert_eq!(with("another").unwrap().embedder.gate, with("gelu").unwrap().embedder.gate);
    for name in ["relu", "reglu"] {
        refused(with(name), UnsupportedArchitecture, &["modern-bert.hidden_activation", "gelu or silu", name]);
    }
}

/// A file without a note is one whose keys and tensors are all read.
#[test]
fn fixtures_ask_for_nothing_that_is_not_done() {
    let folder = format!("{}/tests/fixtures/models", env!("CARGO_MANIFEST_DIR"));
    let (mut count, mut wrong) = (0, Vec::new());
    for entry in std::fs::read_dir(folder).expect("fixtures").flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|end| end != "gguf") {
            continue;
        }
        let file = std::fs::read(&path).expect("a fixture");
        let mut reader = webgguf::gguf::HeaderReader::new(Some(file.len() as u64));
        let gguf = reader.push(&file).expect("a header").expect("the whole header");
        if gguf.split_count().expect("a count") > 1 {
            continue;
        }
        match webgguf::model::config(&gguf) {
            Ok(config) if config.notes.is_empty() => count += 1,
            Ok(config) => wrong.push(format!("{}: {:?}", path.display(), config.notes)),
            Err(error) => wrong.push(format!("{}: {error}", path.display())),
        }
    }
    assert_eq!(wrong, [""; 0]);
    assert!(count > 100, "{count} fixtures");
}

/// Keys of families that are not here, in the file of one that is.
#[test]
fn keys_that_change_results_are_refused_by_name() {
    let one = Value::U32(1);
    for key in [
        "prism.other.version",
        "llama.activation.situ_beta",
        "llama.adapters.count",
        "llama.attention.compress_ratios",
        "llama.attention.indexer.top_k",
        "llama.attention.kv_lora_rank_swa",
        "llama.attention.output_scale",
        "llama.attention.value_scale",
        "llama.attn_res.block_size",
        "llama.decoder_block_count",
        "llama.expert_chunk_feed_forward_length",
        "llama.expert_group_scale",
        "llama.hash_layer_count",
        "llama.hrm.h_cycles",
        "llama.hyper_connection.count",
        "llama.kda.head_dim",
        "llama.moe_latent_size",
        "llama.ple.layers",
        "llama.router_logit_softcapping",
        "llama.swiglu_clamp_exp",
        "llama.swin_norm",
    ] {
        for value in [one.clone(), Value::F32(0.5), Value::Bool(true), Value::String("a".into())] {
            refused(with(key, value), UnsupportedArchitecture, &[key, "not supported"]);
        }
        refused(with(key, Value::Array(Array::I32(vec![0, 3]))), UnsupportedArchitecture, &[key]);
        // A value that switches the feature off changes nothing.
        for value in [Value::U32(0), Value::Bool(false), Value::F32(0.0), Value::Array(Array::I32(vec![0, 0]))] {
            assert!(with(key, value).is_ok(), "{key}");
        }
    }
}

/// Gives a model another number.
type Change = fn(&mut ModelConfig);

/// Keys whose numbers some families read.
const OTHER_NUMBERS: [(&str, Change); 9] = [
    ("attn_logit_softcapping", |config| config.attention_soft_cap = Some(5.0)),
    ("final_logit_softcapping", |config| config.final_soft_cap = Some(5.0)),
    ("attention.scale", |config| config.attention_scale = Some(5.0)),
    ("attention.clamp_kqv", |config| config.clamp_qkv = Some(5.0)),
    ("attention.max_alibi_bias", |config| config.alibi = Some(5.0)),
    ("attention.temperature_scale", |config| config.attention_temperature = Some(5.0)),
    ("embedding_scale", |config| config.embedding_scale = Some(5.0)),
    ("residual_scale", |config| config.residual_scale = Some(5.0)),
    ("logit_scale", |config| config.logit_scale = Some(5.0)),
];

/// A number is left out where the family's program is the same with another one, and noted there. Families that have
/// the number of all their files as a constant say nothing.
#[test]
fn numbers_that_a_family_has_no_use_for_are_noted() {
    let constant = ["bloom", "gemma3n", "minicpm3", "baichuan", "refact", "jais", "jina-bert-v2", "deepseek2"];
    let mut wrong = Vec::new();
    for architecture in architectures() {
        for (key, change) in OTHER_NUMBERS {
            let Ok(config) = with_keys(architecture, &[(key, Value::F32(3.0))]) else { continue };
            let mut other = config.clone();
            change(&mut other);
            let is_used = webgguf::model::program(&other) != webgguf::model::program(&config);
            let is_noted = config.notes.iter().any(|note| note.contains(key));
            let may_be_silent = is_used || constant.contains(&architecture);
            if !(if is_noted { !is_used } else { may_be_silent }) {
                wrong.push(format!("{architecture}.{key}: used {is_used}"));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn keys_that_are_not_known_or_of_no_use_are_noted() {
    let notes = |key: &str, value: Value| with(key, value).expect("good settings").notes;
    for key in [
        "llama.attention.twist",
        "llama.attention.relative_buckets_count",
        "llama.rope.scaling.spiral",
        "llama.expert_mood",
        "llama.decision.type",
        "tokenizer.ggml.fold_case",
        "other.rotation",
    ] {
        let found = notes(key, Value::String("x".into()));
        assert!(found.len() == 1 && found[0].contains(key) && found[0].contains("not known"), "{key}: {found:?}");
    }
    for key in ["general.some", "tokenizer.ggml.mask_token_id", "quantize.imatrix.file", "llama.vocab_size"] {
        assert_eq!(notes(key, Value::U32(VOCAB as u32)), [""; 0], "{key}");
    }
    for key in OTHER_NUMBERS.map(|(key, _)| key) {
        let found = notes(&format!("llama.{key}"), Value::F32(3.0));
        assert!(found.len() == 1 && found[0].contains(key) && found[0].contains("no use"), "{key}: {found:?}");
        assert_eq!(notes(&format!("llama.{key}"), Value::F32(0.0)), [""; 0], "{key} of 0");
    }
    // A family that reads it has nothing to say.
    let gemma = with_keys("gemma2", &[("final_logit_softcapping", Value::F32(30.0))]).expect("good settings");
    assert_eq!(gemma.notes, [""; 0]);
    let many = (0..100).map(|n| format!("llama.unknown_{n}")).fold(metadata("llama"), |mut all, key| {
        all.insert(key, Value::U32(1));
        all
    });
    assert!(webgguf::model::config(&header(many)).expect("good settings").notes.len() <= 17);
}

#[test]
fn tensors_that_nothing_reads_are_noted_or_refused() {
    let mut gguf = header(metadata("llama"));
    gguf.tensors.push(tensor("blk.0.mystery.weight", &[32, 32]));
    gguf.tensors.push(tensor("blk.0.attn_q.input_scale", &[1]));
    let config = webgguf::model::config(&gguf).expect("good settings");
    assert!(config.notes.len() == 1 && config.notes[0].contains("blk.0.mystery.weight"), "{:?}", config.notes);
    for (architecture, is_noted) in [("glm4", true), ("qwen35", false)] {
        let mut metadata = metadata(architecture);
        metadata.insert(format!("{architecture}.nextn_predict_layers"), Value::U32(1));
        let mut gguf = header(metadata);
        gguf.tensors.push(tensor("blk.1.nextn.eh_proj.weight", &[64, 32]));
        let notes = webgguf::model::config(&gguf).expect("good settings").notes;
        let expected = "blocks for multi-token prediction that are not used for architecture glm4: 1";
        assert_eq!(notes, [expected].repeat(usize::from(is_noted)), "{architecture}");
    }
    for name in ["blk.0.attn_q.weight.lora_a", "blk.1.ffn_up.weight.lora_b", "blk.0.ffn_up_exps.scale"] {
        let mut gguf = header(metadata("llama"));
        gguf.tensors.push(tensor(name, &[32, 4]));
        let config = webgguf::model::config(&gguf).expect("good settings");
        refused(match_tensors(&config, &gguf.tensors), UnsupportedArchitecture, &[name]);
    }
}

/// Files that are no models say what they are, wherever a model is wanted.
#[test]
fn other_kinds_of_files_are_named() {
    let kind = |pairs: &[(&str, &str)], part: &str| {
        let mut metadata = metadata("llama");
        for (key, value) in pairs {
            metadata.insert(*key, Value::String((*value).into()));
        }
        refused(webgguf::model::config(&header(metadata)), ErrorCode::InvalidArgument, &[part]);
    };
    kind(&[("general.type", "adapter"), ("adapter.type", "lora")], "an adapter (LoRA)");
    kind(&[("general.architecture", "controlvector")], "a control vector");
    kind(&[("general.type", "imatrix")], "an importance matrix");
    for drafter in ["eagle3", "gemma4-assistant", "dflash"] {
        let message = format!("a drafter, of architecture {drafter}: give it to the option 'draft'");
        kind(&[("general.architecture", drafter)], &message);
    }
    let mut vocabulary = header(metadata("llama"));
    vocabulary.metadata.insert("tokenizer.ggml.tokens", Value::Array(Array::Strings(["a"].iter().collect())));
    vocabulary.tensors.clear();
    refused(webgguf::model::config(&vocabulary), ErrorCode::InvalidArgument, &["a vocabulary without weights"]);
    let mut encoder = Metadata::new();
    encoder.insert("general.architecture", Value::String("clip".into()));
    refused(webgguf::model::check_kind(&encoder, false), ErrorCode::InvalidArgument, &["an encoder", "mmproj"]);
    assert!(webgguf::model::check_kind(&encoder, true).is_ok());
    assert!(webgguf::model::check_kind(&metadata("llama"), false).is_ok());
}

/// A drafter of another model says in what it is not of this one, with both numbers.
#[test]
fn drafters_of_other_models_are_refused() {
    let join = |keys: &[(&str, Value)], tokens: usize| {
        let mut own = metadata("eagle3");
        own.insert("eagle3.target_hidden_size", Value::U32(32));
        own.insert("eagle3.block_count", Value::U32(1));
        own.insert("eagle3.target_layers", Value::Array(Array::I32(vec![0, 1, 2])));
        let tokens = (0..tokens).map(|n| format!("t{n}")).collect();
        own.insert("tokenizer.ggml.tokens", Value::Array(Array::Strings(tokens)));
        for (key, value) in keys {
            own.insert(format!("eagle3.{key}"), value.clone());
        }
        let (mut gguf, mut drafter) = (header(metadata("llama")), header(own));
        drafter.tensors = vec![tensor("fc.weight", &[96, 32]), tensor("blk.0.attn_q.weight", &[64, 32])];
        gguf.tensors.push(tensor("blk.2.nextn.eh_proj.weight", &[64, 32]));
        let config = webgguf::model::config(&gguf).expect("good settings");
        Drafter::join(&mut gguf, 3, config, drafter).map(|config| (config, gguf))
    };
    let (config, gguf) = join(&[], VOCAB).expect("a drafter of this model");
    let behind = gguf.tensors.iter().filter(|tensor| tensor.part == 3).map(|tensor| tensor.name.as_str());
    assert_eq!(behind.collect::<Vec<_>>(), ["blk.2.fc.weight", "blk.2.attn_q.weight"]);
    assert!(config.has_tensor("blk.2.fc.weight") && !config.has_tensor("blk.2.nextn.eh_proj.weight"));
    let program = webgguf::model::program(&config);
    assert!(program.next.is_some() && program.sides.len() == 1, "a block, and what it reads");
    let alone = webgguf::model::program(&ModelConfig { predicts_next: false, ..config });
    assert!(alone.next.is_none() && alone.sides.is_empty() && alone.hands_on.is_empty(), "as without it");
    let number = |key: &str, number| vec![(key.to_owned(), Value::U32(number))];
    let layers = |list: &[i32]| vec![("target_layers".to_owned(), Value::Array(Array::I32(list.to_vec())))];
    for (keys, tokens, parts) in [
        (number("target_hidden_size", 48), VOCAB, ["stream is 48", "here it is 32"]),
        (Vec::new(), VOCAB + 1, ["vocabulary is 38", "here it is 37"]),
        (layers(&[0, 1, 3]), VOCAB, ["reads layer 3", "the model has 2"]),
        (layers(&[0, -1, 1]), VOCAB, ["reads layer", "the model has 2"]),
        (layers(&[1, 0, 2]), VOCAB, ["[1, 0, 2]", "ascending"]),
        (layers(&[0, 1]), VOCAB, ["[0, 1]", "expected 3"]),
        (number("embedding_length", 64), VOCAB, ["width is 64", "here it is 32"]),
        (number("block_count", 2), VOCAB, ["has 2 layers", "expected 1"]),
    ] {
        let keys: Vec<(&str, Value)> = keys.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
        refused(join(&keys, tokens), ErrorCode::InvalidArgument, &[&parts[..], &["option 'draft'"]].concat());
    }
}

/// The same of one that drafts several tokens in a pass; one that drafts in another way is named.
#[test]
fn blocks_of_other_models_are_refused() {
    let layers = |list: &[i32]| Value::Array(Array::I32(list.to_vec()));
    let join = |key: &str, value: Value, tensor_of: &str| {
        let mut own = metadata("dflash");
        own.insert("dflash.target_layers", layers(&[0, 1]));
        own.insert("tokenizer.ggml.mask_token_id", Value::U32(7));
        own.insert(key, value);
        let (mut gguf, mut drafter) = (header(metadata("llama")), header(own));
        drafter.tensors = ["fc.weight", "blk.1.attn_v.weight", tensor_of].map(|name| tensor(name, &[64, 32])).to_vec();
        let config = webgguf::model::config(&gguf).expect("good settings");
        Drafter::join(&mut gguf, 3, config, drafter)
    };
    let config = join("dflash.block_size", Value::U32(4), "other").expect("a drafter of this model");
    let program = webgguf::model::program(&config);
    let next = program.next.as_ref().expect("a block");
    let masks = Masks { id: 7, rows: 4, sees_all: true };
    assert_eq!((next.drafted.masks, next.layers.len(), program.attentions().len()), (Some(masks), 2, 4));
    let kept = |op: &Op| matches!(op, Op::Attend { kv: Some(_), keys: Keys::Kept(_), .. });
    assert_eq!(program.layers.iter().map(|ops| ops.iter().filter(|op| kept(op)).count()).collect::<Vec<_>>(), [0, 2]);
    let number = |number| Value::U32(number);
    for (key, value, parts) in [
        ("dflash.embedding_length", number(48), ["width is 48", "here it is 32"]),
        ("dflash.target_layers", layers(&[0, 3]), ["reads layer 3", "the model has 2"]),
        ("dflash.target_layers", layers(&[]), ["reads layers []", "expected 1"]),
        ("dflash.target_layers", layers(&[1; 4]), ["reads 4 layers", "expected 3 at most"]),
        ("tokenizer.ggml.mask_token_id", number(37), ["masks: 37", "expected one of 37"]),
        ("dflash.block_size", number(1), ["blocks of 1", "expected 2"]),
        ("dflash.hidden_activation", Value::String("relu".into()), ["\"relu\"", "\"silu\""]),
        ("dflash.conv_kernel_size", number(3), ["drafter of DFlash 2", "not supported"]),
    ] {
        refused(join(key, value, "other"), ErrorCode::InvalidArgument, &[&parts[..], &["option 'draft'"]].concat());
    }
    let found = join("dflash.block_size", number(8), "markov_w1.weight");
    refused(found, ErrorCode::InvalidArgument, &["DSpark", "option 'draft'"]);
}

/// An assistant says so of a Gemma 4 whose caches it cannot read, or of another model.
#[test]
fn assistants_of_other_models_are_refused() {
    const NAMES: [&str; 2] = ["gemma4", "gemma4-assistant"];
    let pattern = |flags: &[bool]| Value::Array(Array::Bool(flags.to_vec()));
    let join = |changed: [&[(&str, Value)]; 2], [model, drafter]: [&'static str; 2]| {
        let of = |name: &str, keys: &[(&str, Value)]| {
            let mut metadata = metadata(name);
            metadata.insert(format!("{name}.attention.sliding_window"), Value::U32(16));
            metadata.insert(format!("{name}.attention.sliding_window_pattern"), pattern(&[true, false]));
            metadata.insert(format!("{name}.embedding_length_out"), Value::U32(32));
            for (key, value) in keys {
                metadata.insert(format!("{name}.{key}"), value.clone());
            }
            header(metadata)
        };
        let (mut gguf, mut drafter) = (of(model, changed[0]), of(drafter, changed[1]));
        drafter.tensors =
            vec![tensor("nextn.pre_projection.weight", &[64, 40]), tensor("blk.1.attn_q.weight", &[40, 32])];
        let config = webgguf::model::config(&gguf).expect("good settings");
        Drafter::join(&mut gguf, 1, config, drafter)
    };
    let heads = Value::Array(Array::I32(vec![2, 4]));
    let own = [
        ("embedding_length", Value::U32(40)),
        ("attention.key_length", Value::U32(8)),
        ("attention.head_count", heads),
        ("nextn_predict_layers", Value::U32(2)),
        ("attention.shared_kv_layers", Value::U32(2)),
    ];
    let config = join([&[], &own], NAMES).expect("an assistant of this model");
    assert!(config.has_tensor("blk.2.nextn.pre_projection.weight") && config.has_tensor("blk.3.attn_q.weight"));
    let program = webgguf::model::program(&config);
    let next = program.next.as_ref().expect("a block");
    let widths = [next.residual(), next.inputs()[0]].map(|of| next.width(of));
    assert_eq!((program.attentions().len(), next.layers.len(), widths), (2, 2, [40, 32]));
    let read = |ops: &Vec<Op>| {
        ops.iter().find_map(|op| match op {
            Op::Attend { kv: None, keys: Keys::Cached(cache), attention, .. } => Some((*cache, attention.heads)),
            _ => None,
        })
    };
    assert_eq!(next.layers.iter().map(read).collect::<Vec<_>>(), [Some((0, 2)), Some((1, 4))]);
    let changed = |key: &'static str, value| [&own[..], &[(key, value)]].concat();
    let number = |key: &'static str, number| changed(key, Value::U32(number));
    let none = |key: &'static str, value: Value| vec![(key, value)];
    for (model, of, parts) in [
        (vec![], number("embedding_length_out", 48), ["residual stream is 48", "here it is 32"]),
        (vec![], number("attention.key_length", 16), ["values of a head in layer 0 is 16", "here it is 8"]),
        (vec![], number("attention.head_count_kv", 1), ["number of kv heads in layer 0 is 1", "here it is 2"]),
        (vec![], number("attention.sliding_window", 24), ["window in layer 0 is 24", "here it is 16"]),
        (
            none("attention.sliding_window_pattern", pattern(&[false, false])),
            own.to_vec(),
            ["layer 0 reads a layer with a window", "the model has none"],
        ),
        (
            none("attention.sliding_window_pattern", pattern(&[true, true])),
            own.to_vec(),
            ["layer 1 reads a layer without a window", "the model has none"],
        ),
    ] {
        refused(join([&model, &of], NAMES), ErrorCode::InvalidArgument, &[&parts[..], &["option 'draft'"]].concat());
    }
    let window = [("attention.sliding_window", Value::U32(1))];
    let narrow = join([&window, &[&own[..], &window].concat()], NAMES);
    refused(narrow, ErrorCode::InvalidArgument, &["layer 0 has a window of 1", "expected 2"]);
    let other = join([&[], &own], ["gemma3", NAMES[1]]);
    refused(other, ErrorCode::InvalidArgument, &["of architecture gemma4", "here it is gemma3"]);
}

#[test]
fn pooling_that_is_not_done_is_said() {
    for kind in 1..=4 {
        let config = with_keys("internlm2", &[("pooling_type", Value::U32(kind))]).expect("a model that writes text");
        assert_eq!(config.embedder.pooling, None);
        let note = config.notes.concat();
        assert!(note.contains("internlm2.pooling_type") && note.contains("write text alone"), "{note}");
        let notes = with_keys("internlm2", &[("pooling_type", Value::U32(0))]).expect("good settings").notes;
        assert_eq!(notes, [""; 0]);
    }
    for architecture in ["qwen3", "llama", "gemma3", "bert"] {
        let found = with_keys(architecture, &[("pooling_type", Value::U32(4))]);
        refused(found, BadFile, &["cls.output.weight is missing", "pooling_type"]);
    }
    let mut sees_all = with_keys("llama", &[("attention.causal", Value::Bool(false))]).expect("good settings");
    refused(sees_all.embedder.check_sight("llama"), UnsupportedArchitecture, &["llama.attention.causal"]);
    sees_all = sees_all.with_pooling(webgguf::model::Pooling::Mean).expect("an embedder");
    assert!(sees_all.embedder.check_sight("llama").is_ok());
}
