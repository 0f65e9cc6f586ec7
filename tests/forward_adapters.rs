//! Models with adapters on a WebGPU device: against llama.cpp and the CPU path, one request and several together.
#![cfg(all(feature = "harness", any(target_arch = "wasm32", feature = "gpu-tests")))]

#[path = "common/console.rs"]
mod console;
#[path = "common/device.rs"]
mod device;
#[path = "common/gguf_writer.rs"]
mod gguf_writer;
#[path = "common/in_memory.rs"]
mod in_memory;

use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use webgguf::cpu::CacheFormat;
use webgguf::forward::Room;
use webgguf::gguf::{GgmlType, Value as Meta};
use webgguf::model::match_tensors;
use webgguf::runtime::{
    AnySession, CpuSession, Drafting, Engine, GenerateOptions, GpuModelBuilder, GpuSession, MAX_DEPTH,
};
use webgguf::sampler::SamplingOptions;

use console::console_log;
use device::device;
use gguf_writer::GgufWriter;
use in_memory::{cpu_model, engine_of, header, put_weights, together};

wasm_bindgen_test_configure!(run_in_browser);

const CONTEXT: usize = 512;

/// A base, its adapters by name, and what llama.cpp says.
struct Base {
    name: &'static str,
    file: &'static [u8],
    adapters: &'static [(&'static str, &'static [u8])],
}

macro_rules! base {
    ($name:literal) => {
        base!($name, "all", "some", "invoked")
    };
    ($name:literal, $($adapter:literal),*) => {
        Base {
            name: $name,
            file: include_bytes!(concat!("fixtures/models/", $name, ".gguf")),
            adapters: &[
                $(($adapter, include_bytes!(concat!("fixtures/adapters/", $name, ".", $adapter, ".gguf")))),*
            ],
        }
    };
}

fn said(base: &Base) -> serde_json::Value {
    let text = match base.adapters[0].0 {
        "vector" => include_str!("fixtures/adapters/vectors.json"),
        _ => include_str!("fixtures/adapters/expectations.json"),
    };
    let all: serde_json::Value = serde_json::from_str(text).expect("JSON");
    all[base.name].clone()
}

/// The model on the GPU, with room for so many requests at once.
async fn on_gpu(file: &[u8], requests: usize) -> Vec<Engine> {
    let device = device().await;
    let gguf = header(file);
    let config = webgguf::model::config(&gguf).expect("a known model");
    let matched = match_tensors(&config, &gguf.tensors).expect("all tensors");
    let caps = device.caps.clone();
    let mut builder = GpuModelBuilder::new(device, caps, config, CONTEXT, &gguf.tensors, matched).expect("room");
    put_weights(&mut builder, file, &gguf);
    let mut session: GpuSession = builder.finish().await.expect("command lists");
    if requests > 1 {
        let room = Room::one(CONTEXT).for_requests(requests);
        session = GpuSession::with_room(session.model().clone(), room).await.expect("room");
    }
    let mut all = vec![engine_of(AnySession::of_gpu(session), file)];
    for _ in 1..requests {
        let made = all[0].another(false).await.expect("a lane");
        all.push(made);
    }
    all
}

fn on_cpu(file: &[u8]) -> Engine {
    let model = cpu_model(file, CONTEXT, CacheFormat::F16);
    engine_of(AnySession::Cpu(Box::new(CpuSession::new(model))), file)
}

/// Makes the adapters known, by the numbers 1, 2 and 3.
async fn add_all(engine: &mut Engine, base: &Base) {
    for (id, &(_, file)) in (1..).zip(base.adapters) {
        engine.add_adapter(id, file).await.expect("an adapter of this model");
    }
}

/// Numbers and scales of a case of the expectations.
fn uses(base: &Base, case: &serde_json::Value) -> Vec<(u32, f32)> {
    let number = |file: &serde_json::Value| {
        let is_it = |(name, _): &(&str, _)| file == &format!("{}.{name}.gguf", base.name);
        base.adapters.iter().position(is_it).expect("an adapter") as u32 + 1
    };
    let files = case["adapters"].as_array().expect("names").iter().map(number);
    let scales = case["scales"].as_array().expect("scales").iter().map(|scale| scale.as_f64().expect("a number"));
    files.zip(scales.map(|scale| scale as f32)).collect()
}

/// ‖a − b‖ / ‖b‖.
fn relative(found: &[f32], expected: impl Iterator<Item = f64> + Clone) -> f64 {
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
    norm(&mut found.iter().zip(expected.clone()).map(|(&a, b)| f64::from(a) - b)) / norm(&mut expected.clone())
}

async fn logits(engine: &mut Engine, ids: &[u32], adapters: &[(u32, f32)]) -> Vec<f32> {
    let mut all = Vec::new();
    let each = |_: usize, rows: &[f32]| all.extend_from_slice(rows);
    assert!(engine.evaluate_with(ids, adapters, each).await.expect("a working device"));
    all
}

fn options(adapters: &[(u32, f32)], max_tokens: usize) -> GenerateOptions {
    let sampling = SamplingOptions::default();
    GenerateOptions {
        max_tokens: Some(max_tokens),
        sampling,
        ignore_eos: true,
        adapters: adapters.to_vec(),
        ..Default::default()
    }
}

/// The text after a prompt, and how much of that was cached.
async fn generate(engine: &mut Engine, prompt: &[u32], options: &GenerateOptions) -> (Vec<u32>, usize) {
    engine.start(prompt.to_vec(), options.clone(), 0.0).expect("a good prompt");
    while engine.next(|| 0.0).await.expect("a working device").is_some() {}
    let outcome = engine.finish().expect("a run");
    (outcome.ids, outcome.cached_tokens)
}

async fn compare(base: Base) {
    let said = said(&base);
    let ids: Vec<u32> = serde_json::from_value(said["ids"].clone()).expect("ids");
    let mut gpu = on_gpu(base.file, 1).await.remove(0);
    let mut cpu = on_cpu(base.file);
    let plain = logits(&mut gpu, &ids, &[]).await;
    for engine in [&mut gpu, &mut cpu] {
        add_all(engine, &base).await;
    }
    let vocab = plain.len() / ids.len();
    for case in said["cases"].as_array().expect("cases") {
        let adapters = uses(&base, case);
        let expected = case["logits"].as_array().expect("logits").iter().map(|x| x.as_f64().expect("a number"));
        let found = logits(&mut gpu, &ids, &adapters).await;
        let error = relative(&found[found.len() - vocab..], expected);
        let on_cpu = logits(&mut cpu, &ids, &adapters).await;
        let from_cpu = relative(&found, on_cpu.iter().map(|&x| f64::from(x)));
        console_log!("{} {adapters:?}: {error:.1e} from llama.cpp, {from_cpu:.1e} from the CPU", base.name);
        assert!(error < 3e-3 && from_cpu < 2e-3, "{} {adapters:?}: {error} and {from_cpu}", base.name);
        // Prefill, then decode with the prologues and epilogues that are left.
        let greedy = options(&adapters, 12);
        let text = generate(&mut gpu, &ids, &greedy).await;
        assert_eq!(text.0, generate(&mut cpu, &ids, &greedy).await.0, "{} {adapters:?}: greedy text", base.name);
    }
    assert_eq!(logits(&mut gpu, &ids, &[]).await, plain, "{}: nothing of them stays", base.name);
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn a_tied_model_with_adapters() {
    compare(base!("llama-f32")).await;
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn a_model_with_q_k_and_v_in_one_tensor_and_a_head_of_its_own() {
    compare(base!("phi3-q8_0")).await;
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn a_model_with_norms_after_blocks() {
    compare(base!("gemma2-bf16")).await;
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn a_model_with_experts() {
    compare(base!("olmoe-f16")).await;
}

/// An adapter of all experts of a model.
fn adapter_of_experts(file: &[u8]) -> Vec<u8> {
    let gguf = header(file);
    let architecture = gguf.metadata.str("general.architecture").expect("a string").expect("an architecture");
    let mut made = GgufWriter::new();
    for (key, value) in [("general.type", "adapter"), ("general.architecture", architecture), ("adapter.type", "lora")]
    {
        made = made.pair(key, Meta::String(value.into()));
    }
    let mut seed = 1u32;
    let mut value = |_| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((seed >> 8) as f32 / (1 << 23) as f32 - 1.0) * 0.2
    };
    for tensor in gguf.tensors.iter().filter(|tensor| tensor.name.ends_with("_exps.weight")) {
        let [cols, rows, experts] = tensor.dims[..] else { panic!("{}: experts have three sizes", tensor.name) };
        for (half, dims) in [("lora_a", [cols, 3, experts]), ("lora_b", [3, rows, experts])] {
            let bytes = (0..dims.iter().product()).map(&mut value).flat_map(f32::to_le_bytes).collect();
            made = made.tensor(&format!("{}.{half}", tensor.name), GgmlType::F32, &dims, bytes);
        }
    }
    made.build()
}

/// Biases of experts; gate and up of an expert in one tensor, beside another feed-forward.
#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn other_models_with_experts() {
    let files: [(&str, &[u8]); 2] = [
        ("gpt-oss", include_bytes!("fixtures/models/gpt-oss-mxfp4.gguf")),
        ("gemma4", include_bytes!("fixtures/models/gemma4-moe-q4_0.gguf")),
    ];
    let ids: Vec<u32> = (1..20).map(|at| at * 37 % 256).collect();
    for (name, file) in files {
        let (mut gpu, mut cpu) = (on_gpu(file, 1).await.remove(0), on_cpu(file));
        let adapter = adapter_of_experts(file);
        let plain = logits(&mut gpu, &ids, &[]).await;
        for engine in [&mut gpu, &mut cpu] {
            engine.add_adapter(1, &adapter).await.expect("an adapter of this model");
        }
        let [found, expected] = [logits(&mut gpu, &ids, &[(1, 1.5)]).await, logits(&mut cpu, &ids, &[(1, 1.5)]).await];
        let from = |of: &[f32]| relative(&found, of.iter().map(|&x| f64::from(x)));
        console_log!("{name}: {:.1e} from the CPU, {:.1e} from the model alone", from(&expected), from(&plain));
        assert!(from(&expected) < 2e-3 && from(&plain) > 0.05, "{name}");
        let greedy = options(&[(1, 1.5)], 6);
        assert_eq!(generate(&mut gpu, &ids, &greedy).await, generate(&mut cpu, &ids, &greedy).await, "{name}: text");
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn models_with_control_vectors() {
    compare(base!("gemma2-bf16", "vector", "all")).await;
    compare(base!("lfm2moe-q4_0", "vector")).await;
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn the_cache_of_a_prefix_counts_for_the_adapters_it_was_made_with() {
    let base = base!("llama-f32");
    let mut gpu = on_gpu(base.file, 1).await.remove(0);
    add_all(&mut gpu, &base).await;
    let ids: Vec<u32> = serde_json::from_value(said(&base)["ids"].clone()).expect("ids");
    let start = said(&base)["start"].as_u64().expect("a position") as usize;
    let (mut cached, mut bytes) = (Vec::new(), Vec::new());
    for adapters in [&[][..], &[], &[(1, 1.0)], &[(1, 1.0)], &[(1, 0.5)], &[], &[(3, 1.0)], &[(3, 1.0)], &[(2, 0.0)]] {
        cached.push(generate(&mut gpu, &ids, &options(adapters, 2)).await.1);
        let AnySession::Gpu(session) = &gpu.session else { panic!("not on the GPU") };
        bytes.push(session.of_session(GpuSession::bytes));
    }
    assert!(bytes[5] >= bytes[4] && bytes[2] > bytes[0], "lists that are set aside count: {bytes:?}");
    let rest = ids.len() - 1;
    assert_eq!(cached, [0, rest, 0, rest, 0, 0, start, rest, start]);
    assert!(gpu.remove_adapter(1) && !gpu.remove_adapter(1));
    let error = gpu.start(ids.clone(), options(&[(1, 1.0)], 2), 0.0).expect_err("it is gone");
    assert_eq!(error.message(), "adapters: the model has no adapter 1");
    // Those that are removed leave their places to others, once requests use other ones.
    for id in 10..30 {
        gpu.add_adapter(id, base.adapters[0].1).await.expect("a place");
        generate(&mut gpu, &ids[..3], &options(&[(id, 1.0)], 1)).await;
        assert!(gpu.remove_adapter(id));
    }
    for id in 30..43 {
        gpu.add_adapter(id, base.adapters[0].1).await.expect("a place");
    }
    let error = gpu.add_adapter(99, base.adapters[0].1).await.expect_err("16 are there or in use");
    assert_eq!(error.message(), "a model has at most 16 adapters");
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn requests_with_different_adapters_share_passes() {
    share_passes(base!("llama-f32")).await;
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn requests_with_different_adapters_of_experts_share_passes() {
    share_passes(base!("olmoe-f16")).await;
}

async fn share_passes(base: Base) {
    let ids: Vec<u32> = serde_json::from_value(said(&base)["ids"].clone()).expect("ids");
    let mut cpu = on_cpu(base.file);
    add_all(&mut cpu, &base).await;
    let mut lanes = on_gpu(base.file, 4).await;
    add_all(&mut lanes[0], &base).await;
    let adapters: [&[(u32, f32)]; 4] = [&[(1, 1.0)], &[], &[(1, -0.5), (2, 0.7)], &[(2, 1.0)]];
    let mut expected = Vec::new();
    for (at, adapters) in adapters.iter().enumerate() {
        expected.push(generate(&mut cpu, &ids[at..], &options(adapters, MAX_DEPTH)).await.0);
    }
    let found = together(
        lanes
            .iter_mut()
            .enumerate()
            .map(async |(at, lane)| generate(lane, &ids[at..], &options(adapters[at], MAX_DEPTH)).await.0),
    );
    let found = found.await;
    assert_eq!(found, expected);
}

/// Texts with adapters and drafts: they are those without drafts, in fewer passes, and without an adapter again.
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn texts_with_adapters_have_drafts() {
    let warm = SamplingOptions { temperature: 0.6, top_k: 8, seed: 3, ..Default::default() };
    let penalised = SamplingOptions { frequency_penalty: 0.05, presence_penalty: 0.2, ..warm };
    for (base, ways) in [(base!("llama-f32"), 3), (base!("lfm2moe-q4_0", "vector"), 1)] {
        let plain = on_gpu(base.file, 1).await.remove(0);
        let AnySession::Gpu(lane) = &plain.session else { panic!("not on the GPU") };
        let room = Room::one(CONTEXT).with_drafts(true);
        let session = GpuSession::with_room(lane.model().clone(), room).await.expect("room");
        let mut gpu = engine_of(AnySession::of_gpu(session), base.file);
        add_all(&mut gpu, &base).await;
        let prompt: Vec<u32> = serde_json::from_value(said(&base)["ids"].clone()).expect("ids");
        for sampling in [SamplingOptions::default(), warm, penalised].into_iter().take(ways) {
            for adapters in [&[(1, 1.0)][..], &[], &[(1, -0.5)]] {
                let options = GenerateOptions {
                    biases: vec![(5, 60.0), (9, 60.0)],
                    drafting: Drafting::Off,
                    sampling,
                    ..options(adapters, 60)
                };
                let expected = generate(&mut gpu, &prompt, &options).await.0;
                gpu.start(prompt.clone(), GenerateOptions { drafting: Drafting::Prompt, ..options }, 0.0).expect("ids");
                while gpu.next(|| 0.0).await.expect("a working device").is_some() {}
                let found = gpu.finish().expect("a run");
                let name = format!("{}, {adapters:?}", base.name);
                console_log!("{name}: {} right, {} wrong", found.accepted_drafts, found.rejected_drafts);
                assert_eq!(found.ids, expected, "{name}");
                assert!(found.accepted_drafts > 0, "{name}: the test says nothing");
            }
        }
    }
}
