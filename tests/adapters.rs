//! Adapters against llama.cpp, on the CPU; `tools/oracle/make_adapters.py` says where the numbers come from.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/cpu.rs"]
mod cpu;
#[path = "common/gguf_writer.rs"]
mod gguf_writer;

use std::path::PathBuf;

use gguf_writer::GgufWriter;
use serde_json::Value;
use webgguf::cpu::{ActiveAdapter, CacheFormat, CpuModel, Logits};
use webgguf::forward::{
    AdapterGroup, AdapterPlaces, Adapters, Buffers, Forward, GroupPlace, Plan, Room, adapted, adapter_groups, place,
};
use webgguf::gguf::{GgmlType, HeaderReader, Value as Meta};
use webgguf::kernels::caps::Caps;
use webgguf::kernels::lora::Terms;
use webgguf::model::{Adapter, ModelConfig, match_tensors};
use webgguf::{Error, ErrorCode};

const BASES: [&str; 4] = ["llama-f32", "phi3-q8_0", "olmoe-f16", "gemma2-bf16"];

fn folder() -> PathBuf {
    cpu::fixtures().with_file_name("adapters")
}

fn numbers(value: &Value) -> Vec<f64> {
    serde_json::from_value(value.clone()).expect("numbers")
}

fn said(file: &str) -> Value {
    let text = std::fs::read_to_string(folder().join(file)).expect("expectations");
    serde_json::from_str(&text).expect("JSON")
}

fn base(name: &str) -> CpuModel {
    cpu::load(&[cpu::fixtures().join(format!("{name}.gguf"))], CacheFormat::F32)
}

fn read(model: &CpuModel, name: &str) -> Adapter {
    let file = std::fs::read(folder().join(name)).expect("an adapter");
    Adapter::read(model.config(), &file).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// ‖a − b‖ / ‖b‖.
fn relative(found: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
    let difference = norm(&mut found.iter().zip(expected).map(|(&a, b)| f64::from(a) - b));
    difference / norm(&mut expected.iter().copied())
}

#[test]
fn models_with_adapters_say_what_llama_cpp_says() {
    let said = said("expectations.json");
    for name in BASES {
        let said = &said[name];
        let ids: Vec<u32> = serde_json::from_value(said["ids"].clone()).expect("ids");
        let mut model = base(name);
        let plain = model.forward(&ids, 0, Logits::Last).unwrap();
        assert!(relative(&plain, &numbers(&said["plain"])) < 2e-5, "{name} without adapters");
        check_cases(&mut model, said);
        model.set_adapters(Vec::new());
        assert_eq!(model.forward(&ids, 0, Logits::Last).unwrap(), plain, "{name}: nothing of them stays");
    }
}

#[test]
fn models_with_control_vectors_say_what_llama_cpp_says() {
    for (name, said) in said("vectors.json").as_object().expect("models") {
        check_cases(&mut base(name), said);
    }
}

/// What a model says with the adapters of each case.
fn check_cases(model: &mut CpuModel, said: &Value) {
    let ids: Vec<u32> = serde_json::from_value(said["ids"].clone()).expect("ids");
    for case in said["cases"].as_array().expect("cases") {
        let files: Vec<String> = serde_json::from_value(case["adapters"].clone()).expect("names");
        let adapters = files.iter().zip(numbers(&case["scales"])).map(|(file, scale)| {
            let adapter = read(model, file);
            let invocation = &adapter.invocation;
            let from = ids.windows(invocation.len().max(1)).rposition(|window| window == invocation).unwrap_or(0);
            assert_eq!(from as u64, if file.contains("invoked") { said["start"].as_u64().unwrap() } else { 0 });
            ActiveAdapter { adapter: adapter.into(), scale: scale as f32, from }
        });
        let adapters: Vec<_> = adapters.collect();
        model.set_adapters(adapters);
        let expected = numbers(&case["logits"]);
        let whole = model.forward(&ids, 0, Logits::Last).unwrap();
        let error = relative(&whole, &expected);
        // In two passes, the last of one token.
        let (last, before) = ids.split_last().unwrap();
        model.forward(before, 0, Logits::None).unwrap();
        let stepped = model.forward(&[*last], before.len(), Logits::Last).unwrap();
        println!("{files:?} {}: {error:.1e}", case["scales"]);
        // The expectations of control vectors have a digit less.
        let most = if files[0].contains("vector") { 2e-4 } else { 5e-5 };
        assert!(error < most, "{files:?}: {error}");
        assert!(relative(&stepped, &expected) < most, "{files:?} token by token");
    }
}

/// A file that is an adapter of llama-f32, but for what `change` does.
fn adapter_file() -> GgufWriter {
    GgufWriter::new()
        .pair("general.type", Meta::String("adapter".into()))
        .pair("general.architecture", Meta::String("llama".into()))
        .pair("adapter.type", Meta::String("lora".into()))
        .pair("adapter.lora.alpha", Meta::F32(8.0))
}

fn with_pair(file: GgufWriter, name: &str, a: &[u64], b: &[u64]) -> GgufWriter {
    file.zeros(&format!("{name}.lora_a"), GgmlType::F32, a).zeros(&format!("{name}.lora_b"), GgmlType::F32, b)
}

fn refused(config: &ModelConfig, file: GgufWriter) -> (ErrorCode, String) {
    let error: Error = Adapter::read(config, &file.build()).expect_err("a file that is refused");
    (error.code(), error.message().to_owned())
}

#[test]
fn files_that_do_not_fit_are_refused_by_name() {
    let model = base("llama-f32");
    let config = model.config();
    let good = with_pair(adapter_file(), "blk.0.attn_q.weight", &[64, 4], &[4, 64]);
    let read = Adapter::read(config, &good.clone().build()).expect("a good adapter");
    assert_eq!(read.pairs.iter().map(|(_, pair)| pair.rank).collect::<Vec<_>>(), [4]);
    let bad_file = |message: &str| (ErrorCode::BadFile, message.to_owned());

    let of_kind = |kind: &str, architecture: &str, ty: &str| {
        let file = GgufWriter::new().pair("general.type", Meta::String(kind.into()));
        let file = file.pair("general.architecture", Meta::String(architecture.into()));
        refused(config, with_pair(file.pair("adapter.type", Meta::String(ty.into())), "x", &[1], &[1]))
    };
    assert_eq!(of_kind("model", "llama", "lora"), bad_file("adapter: expected general.type adapter, found model"));
    let other = "adapter: expected general.architecture llama, found qwen2";
    assert_eq!(of_kind("adapter", "qwen2", "lora"), bad_file(other));
    assert_eq!(of_kind("adapter", "llama", "dora"), bad_file("adapter: expected adapter.type lora, found dora"));

    let shapes = |name: &str, a: &[u64], b: &[u64]| refused(config, with_pair(adapter_file(), name, a, b));
    let wrong = "adapter tensor blk.0.attn_q.weight.lora_a: expected shape [64, 4, 1, 1] for this model, found [32, 4]";
    assert_eq!(shapes("blk.0.attn_q.weight", &[32, 4], &[4, 64]), bad_file(wrong));
    let wrong = "adapter tensor blk.0.attn_q.weight.lora_b: expected shape [4, 64, 1, 1] for this model, found [4, 65]";
    assert_eq!(shapes("blk.0.attn_q.weight", &[64, 4], &[4, 65]), bad_file(wrong));
    let wrong = "adapter tensor blk.0.attn_q.weight.lora_a: expected shape [64, 5, 1, 1] for this model, found [64, 4]";
    assert_eq!(shapes("blk.0.attn_q.weight", &[64, 4], &[5, 64]), bad_file(wrong));
    let unknown = "adapter tensor blk.9.attn_q.weight.lora_a: the model has no tensor blk.9.attn_q.weight";
    assert_eq!(shapes("blk.9.attn_q.weight", &[64, 4], &[4, 64]), bad_file(unknown));
    let (code, message) = shapes("token_embd.weight", &[4, 307], &[4, 64]);
    assert_eq!(code, ErrorCode::UnsupportedArchitecture);
    assert_eq!(message, "adapter of token_embd.weight: it is the head of this model, too");
    let (code, message) = shapes("blk.0.attn_q.weight", &[64, 4097], &[4097, 64]);
    assert_eq!(code, ErrorCode::LimitExceeded);
    assert_eq!(message, "adapter tensor blk.0.attn_q.weight.lora_b: rank 4097, expected at most 4096");

    let named = |name: &str| refused(config, good.clone().zeros(name, GgmlType::F32, &[64, 4]));
    let suffix = "adapter tensor blk.0.attn_q.lora_c: expected a name that ends with .lora_a or .lora_b";
    assert_eq!(named("blk.0.attn_q.lora_c"), bad_file(suffix));
    let half = "adapter tensor blk.0.attn_k.weight.lora_b is missing";
    assert_eq!(named("blk.0.attn_k.weight.lora_a"), bad_file(half));
    let norm = good.clone().zeros("blk.0.attn_norm.weight", GgmlType::F32, &[64]);
    assert!(Adapter::read(config, &norm.build()).is_ok_and(|read| read.pairs.len() == 1), "norms are left out");
    assert_eq!(refused(config, adapter_file()), bad_file("the adapter has no tensors"));

    let file = adapter_file().zeros("blk.0.attn_q.weight.lora_a", GgmlType::Q4_0, &[64, 4]);
    let (code, message) = refused(config, file.zeros("blk.0.attn_q.weight.lora_b", GgmlType::F32, &[4, 64]));
    assert_eq!(code, ErrorCode::UnsupportedQuant);
    assert_eq!(message, "adapter tensor blk.0.attn_q.weight.lora_a: expected F32, F16, BF16 or Q8_0, found Q4_0");
}

#[test]
fn control_vectors_that_do_not_fit_are_refused_by_name() {
    let gemma2 = base("gemma2-bf16");
    let file = || GgufWriter::new().pair("general.architecture", Meta::String("controlvector".into()));
    let with = |name: &str, ty: GgmlType, dims: &[u64]| refused(gemma2.config(), file().zeros(name, ty, dims));
    let bad_file = |message: &str| (ErrorCode::BadFile, message.to_owned());
    let expected = "control vector: expected direction.1 to direction.1 of 64 values for this model, found";
    for name in ["direction.0", "direction.2", "direction.01", "direction.x", "blk.1.attn_q.weight"] {
        assert_eq!(with(name, GgmlType::F32, &[64]), bad_file(&format!("{expected} {name} of [64]")));
    }
    assert_eq!(with("direction.1", GgmlType::F32, &[63]), bad_file(&format!("{expected} direction.1 of [63]")));
    assert_eq!(with("direction.1", GgmlType::F32, &[64, 2]), bad_file(&format!("{expected} direction.1 of [64, 2]")));
    assert_eq!(with("direction.1", GgmlType::Q4_0, &[64]).0, ErrorCode::UnsupportedQuant);
    let streams = file().zeros("direction.1", GgmlType::F32, &[22]);
    let message = "control vector: this model has other streams beside the residual stream";
    let expected = (ErrorCode::UnsupportedArchitecture, message.to_owned());
    assert_eq!(refused(base("gemma3n-q2_k").config(), streams), expected);
}

/// Dispatches of decode and of prefill of a base, without adapters and with this one.
fn dispatches(name: &str, adapter: &str) -> [[usize; 2]; 2] {
    let model = base(name);
    let (config, caps) = (model.config(), Caps::baseline());
    let file = std::fs::read(cpu::fixtures().join(format!("{name}.gguf"))).expect("a model");
    let mut reader = HeaderReader::new(Some(file.len() as u64));
    let tensors = reader.push(&file).expect("a good header").expect("the whole header").tensors;
    let matched = match_tensors(config, &tensors).expect("all tensors");
    let (program, mut plan) = (model.program(), Plan::default());
    let weights = place(program, &caps, &tensors, matched, &mut plan).expect("room").weights;
    let buffers = Buffers::alloc(program, config.vocab, Room::one(256), &mut plan);
    let plain = Forward::new(program, &caps, &weights, &buffers);

    let groups = adapter_groups(program, &read(&model, adapter));
    let program = adapted(program, &groups.iter().map(|group| group.of).collect::<Vec<_>>());
    let here = plan.words("an adapter", 1);
    let place = |group: AdapterGroup| {
        let AdapterGroup { of, plan, ranks, .. } = group;
        let terms = Terms::new(here, &plan, ranks);
        (of, GroupPlace { a: here, b: here, segments: here, plan, ranks, terms })
    };
    let places = [AdapterPlaces { slot: 0, groups: groups.into_iter().map(place).collect() }];
    let adapters = Some(Adapters { all: &places, t: here, base: model.program() });
    let changed = Forward { adapters, ..Forward::new(&program, &caps, &weights, &buffers) };
    [plain, changed].map(|forward| [forward.decode(1).len(), forward.prefill().len()])
}

/// What an adapter of all products costs in dispatches. One layer has four runs of products; decode has one dispatch
/// more for each, prefill two.
#[test]
fn an_adapter_adds_few_dispatches() {
    assert_eq!(dispatches("llama-f32", "llama-f32.all.gguf"), [[8, 10], [8 + 4, 10 + 8]]);
    // Experts take one more for each of gate, up and down.
    assert_eq!(dispatches("olmoe-f16", "olmoe-f16.all.gguf"), [[13, 15], [13 + 9, 15 + 11]]);
}

#[test]
fn a_cut_file_is_refused_wherever_it_is_cut() {
    let model = base("llama-f32");
    let file = std::fs::read(folder().join("llama-f32.all.gguf")).expect("an adapter");
    for end in (0..file.len()).step_by(97).chain([file.len() - 1]) {
        assert!(Adapter::read(model.config(), &file[..end]).is_err(), "{end} bytes of {}", file.len());
    }
}
