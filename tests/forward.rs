//! Whole models on a WebGPU device against the CPU reference: logits of forced decoding, greedy and sampled text.
#![cfg(all(feature = "harness", any(target_arch = "wasm32", feature = "gpu-tests")))]

#[path = "common/agreed.rs"]
mod agreed;
#[path = "common/console.rs"]
mod console;
#[path = "common/device.rs"]
mod device;
#[path = "common/in_memory.rs"]
mod in_memory;

mod forward_drafts;
mod forward_lanes;
mod forward_models;
mod forward_prefixes;
mod forward_rows;

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;

use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use webgguf::cpu::{CacheFormat, CpuModel, Logits};
use webgguf::forward::{CHUNK, EVALUATE_CHUNK, Room};
use webgguf::gguf::{Array, Value};
use webgguf::gpu::{Device, TensorGpu};
use webgguf::kernels::caps::{Caps, PerLayerEmbeddings, Precision};
use webgguf::kernels::kv_type::KvType;
use webgguf::kernels::pass::Row;
use webgguf::kernels::reference::{argmax, log_sum_exp};
use webgguf::model::match_tensors;
use webgguf::runtime::{
    AnySession, CpuSession, Engine, FewRows, FinishReason, GenerateOptions, GpuModelBuilder, GpuSession, MAX_DEPTH,
    Outcome, RowSource, RunIds, START, Session,
};
use webgguf::sampler::SamplingOptions;
use webgguf::tensor::DType;
use webgguf::tensor::reduce::{ReduceOp, ReduceOptions, reduce};
use webgguf::time_slice::{now, yield_now};
use webgguf::tokenizer::Tokenizer;
use webgguf::{Error, ErrorCode};

use console::console_log;
use device::device;
use in_memory::{cpu_model, engine_of, header, put_weights, together};

wasm_bindgen_test_configure!(run_in_browser);

const CONTEXT: usize = 512;

/// A model with full layers only, one with windows, and one with recurrent states.
const FILES: [&[u8]; 3] = [
    include_bytes!("fixtures/models/llama-q4_k_m.gguf"),
    include_bytes!("fixtures/models/gemma3-q5_1.gguf"),
    include_bytes!("fixtures/models/qwen35-f32.gguf"),
];

/// A model with adapters of its own, to which tokens of [`ids`] switch.
const SWITCH: &[u8] = include_bytes!("fixtures/models/graniteswitch-f16.gguf");

/// The model of `file` on the GPU.
async fn on_gpu(device: Rc<Device>, caps: Caps, file: &[u8], context: usize) -> GpuSession {
    watched(device, caps, file, context, &Watch::default()).await
}

/// What was read of a table that is on the host.
#[derive(Clone, Default)]
struct Watch {
    /// The rows of each read.
    reads: Rc<RefCell<Vec<Vec<u32>>>>,
    /// Whether reads fail.
    broken: Rc<Cell<bool>>,
}

impl Watch {
    /// Rows read so far.
    fn rows(&self) -> usize {
        self.reads.borrow().iter().map(Vec::len).sum()
    }
}

/// A table in memory.
struct Table {
    rows: Vec<Vec<u8>>,
    watch: Watch,
}

impl RowSource for Table {
    fn read<'a>(&'a self, rows: &'a [u32]) -> Pin<Box<dyn Future<Output = webgguf::Result<Vec<u8>>> + 'a>> {
        Box::pin(async move {
            yield_now().await;
            self.watch.reads.borrow_mut().push(rows.to_vec());
            if self.watch.broken.get() {
                return Err(Error::new(ErrorCode::DownloadFailed, "the table is gone"));
            }
            Ok(rows.iter().flat_map(|&row| self.rows[row as usize].clone()).collect())
        })
    }
}

/// As [`on_gpu`]; `watch` sees what is read of a table that is on the host.
async fn watched(device: Rc<Device>, caps: Caps, file: &[u8], context: usize, watch: &Watch) -> GpuSession {
    let gguf = header(file);
    let config = webgguf::model::config(&gguf).expect("a known model");
    let matched = match_tensors(&config, &gguf.tensors).expect("all tensors");
    let mut builder = GpuModelBuilder::new(device, caps, config, context, &gguf.tensors, matched).expect("room");
    if let Some(index) = builder.cached_tensor() {
        let tensor = &gguf.tensors[index];
        let bytes = &file[tensor.offset as usize..][..tensor.bytes as usize];
        let rows = bytes.chunks(bytes.len() / tensor.dims[1] as usize).map(<[u8]>::to_vec).collect();
        builder.read_rows_from(Box::new(Table { rows, watch: watch.clone() }));
    }
    put_weights(&mut builder, file, &gguf);
    builder.finish().await.expect("command lists")
}

/// The model of `file` on the GPU and on the CPU.
async fn both(file: &[u8]) -> [Engine; 2] {
    both_with(file, CONTEXT, |caps| caps).await
}

/// As [`both`], with this context, on a device that is said to be able to do what `caps` makes of it.
async fn both_with(file: &[u8], context: usize, caps: impl FnOnce(Caps) -> Caps) -> [Engine; 2] {
    let device = device().await;
    let caps = caps(device.caps.clone());
    both_on(device, caps, file, context).await
}

async fn both_on(device: Rc<Device>, caps: Caps, file: &[u8], context: usize) -> [Engine; 2] {
    let gpu = AnySession::of_gpu(on_gpu(device, caps, file, context).await);
    let cpu = AnySession::Cpu(Box::new(CpuSession::new(on_cpu(file, context))));
    let metadata = header(file).metadata;
    let tokenizer = || Tokenizer::from_metadata(&metadata).expect("a vocabulary");
    [Engine::new(gpu, tokenizer()), Engine::new(cpu, tokenizer())]
}

fn on_cpu(file: &[u8], context: usize) -> CpuModel {
    cpu_model(file, context, CacheFormat::F16)
}

/// `[ids, hidden]`: the residual stream behind the last layer, chunk by chunk.
fn hidden_states_on_cpu(file: &[u8], ids: &[u32]) -> Vec<f32> {
    const CPU_CHUNK: usize = 32;
    let mut model = on_cpu(file, ids.len());
    let mut all = Vec::new();
    for (index, chunk) in ids.chunks(CPU_CHUNK).enumerate() {
        let mut pass = model.begin(chunk, index * CPU_CHUNK, Logits::None).expect("a good text");
        while pass.step().expect("room for the cache") {}
        all.extend_from_slice(pass.residual());
    }
    all
}

fn options(max_tokens: usize, sampling: SamplingOptions) -> GenerateOptions {
    GenerateOptions { max_tokens: Some(max_tokens), sampling, ignore_eos: true, ..Default::default() }
}

async fn generate(engine: &mut Engine, prompt: &[u32], options: &GenerateOptions) -> (Vec<u32>, usize, FinishReason) {
    engine.start(prompt.to_vec(), options.clone(), 0.0).expect("a good prompt");
    while engine.next(|| 0.0).await.expect("a working device").is_some() {}
    let outcome = engine.finish().expect("a run");
    (outcome.ids, outcome.cached_tokens, outcome.reason)
}

async fn logits(engine: &mut Engine, ids: &[u32]) -> Vec<f32> {
    let mut all = Vec::new();
    assert!(engine.evaluate(ids, |_, rows| all.extend_from_slice(rows)).await.expect("a working device"));
    all
}

/// Ids all over the vocabulary, the same each time.
fn ids(count: usize, vocab: usize) -> Vec<u32> {
    (0..count).map(|i| ((i * i * 31 + i * 7 + 3) % vocab) as u32).collect()
}

async fn compare(name: &str, [mut gpu, mut cpu]: [Engine; 2]) {
    let vocab = cpu.session.config().vocab;
    // Longer than 256, and over the borders of chunks of both sides.
    let text = ids(300, vocab);
    let [found, expected] = [logits(&mut gpu, &text).await, logits(&mut cpu, &text).await];
    let mut worst = 0f64;
    for (position, (found, expected)) in found.chunks(vocab).zip(expected.chunks(vocab)).enumerate() {
        let size = |values: &mut dyn Iterator<Item = f32>| values.map(|x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        let error = size(&mut found.iter().zip(expected).map(|(a, b)| a - b)) / size(&mut expected.iter().copied());
        assert!(error < 2e-3, "{name}: logits at {position} are off by {error:.2e}");
        worst = worst.max(error);
    }
    let greedy = options(48, SamplingOptions::default());
    let prompt = ids(270, vocab);
    let found = generate(&mut gpu, &prompt, &greedy).await;
    assert_eq!(found, generate(&mut cpu, &prompt, &greedy).await, "{name}: greedy text");
    assert_eq!(found.2, FinishReason::Length);
    console_log!("{name}: relative error of logits at most {worst:.1e} over {} positions", text.len());
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn matrices_larger_than_a_binding_are_split() {
    let file = include_bytes!("fixtures/models/llama-q4_k_m.gguf");
    // Small enough that most matrices are cut, gate and up lie apart, and q, k and v too.
    let both = both_with(file, CONTEXT, |caps| Caps { max_binding: 24 << 10, ..caps }).await;
    compare("split llama", both).await;
}

/// The ids that llama.cpp was made to follow on a fixture with these expectations.
fn forced(expectations: &str) -> Vec<u32> {
    let all: serde_json::Value = serde_json::from_str(expectations).expect("JSON");
    let ids = all["forced"].as_array().expect("forced ids");
    ids.iter().map(|id| id.as_u64().expect("an id") as u32).collect()
}

/// Logits of `ids` from `start` on, after the ids before were read as a prompt.
async fn logits_after_prompt(engine: &mut Engine, ids: &[u32], start: usize) -> Vec<f32> {
    engine.session.configure(&SamplingOptions::default(), &RunIds::default(), &[]);
    engine.session.feed(&ids[..start], 0, &Cell::new(false)).await.expect("a working device");
    engine.session.next().await.expect("a working device");
    let mut all = Vec::new();
    let each = &mut |_: usize, rows: &[f32]| all.extend_from_slice(rows);
    engine.session.evaluate(&ids[start..], start, &Cell::new(false), each).await.expect("a working device");
    all
}

/// Forced decoding after a prompt that was read with activations in 8 bits, against the same without activation_format:
/// how often the most probable id is another one, and how far the mean log-probability moves.
async fn rounding(expectations: &str, file: &[u8]) -> (usize, usize, f64) {
    let ids = forced(expectations);
    let start = ids.len() / 4;
    let mut rows = Vec::new();
    for precision in [Precision::Exact, Precision::Fast] {
        let [mut engine, _] = both_with(file, CONTEXT, |caps| caps.with_precision(precision)).await;
        rows.push(logits_after_prompt(&mut engine, &ids, start).await);
    }
    let vocab = rows[0].len() / (ids.len() - start);
    let (mut flips, mut moved) = (0, 0.0);
    for (i, (exact, rounded)) in
        rows[0].chunks(vocab).zip(rows[1].chunks(vocab)).enumerate().take(ids.len() - start - 1)
    {
        let next = ids[start + i + 1] as usize;
        flips += usize::from(argmax(exact) != argmax(rounded));
        moved += f64::from(rounded[next] - log_sum_exp(rounded)) - f64::from(exact[next] - log_sum_exp(exact));
    }
    let count = ids.len() - start - 1;
    (flips, count, moved / count as f64)
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn prompts_in_8_bits_keep_the_answers() {
    macro_rules! files {
        ($($name:literal),*) => {
            [$((
                $name,
                include_str!(concat!("fixtures/models/", $name, ".json")),
                include_bytes!(concat!("fixtures/models/", $name, ".gguf")).as_slice(),
            )),*]
        };
    }
    let files =
        files!["llama-q4_0", "llama-q5_0", "llama-q8_0", "llama-q4_k_m", "llama-q6_k", "qwen2-q8_0", "qwen3-q4_0"];
    for (name, expectations, file) in files {
        let (flips, count, moved) = rounding(expectations, file).await;
        console_log!(
            "{name}: {flips} of {count} positions have another first id; mean log-probability moves by {moved:.4}"
        );
        assert!(moved.abs() < 0.02, "{name}: mean log-probability moves by {moved}");
        assert!(flips * 100 <= count, "{name}: {flips} of {count} positions have another first id");
    }
}

/// The CPU tells it. The GPU would choose the same after each word of it; it tells how it begins, and how it ends after
/// the rest was its prompt: without a GPU each token that is told takes a fifth of a second.
#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn the_storyteller_tells_the_golden_story() {
    const PROMPT: &str = "<|user|>Tell me a story about a hedgehog who finds a silver key<|end|><|assistant|>";
    const PART: usize = 16;
    let file = include_bytes!("../www/models/storyteller.gguf");
    let [mut gpu, mut cpu] = both_with(file, 1024, |caps| caps).await;
    let prompt = gpu.tokenizer.encode_prompt(PROMPT);
    let greedy = GenerateOptions { ignore_eos: false, ..options(400, SamplingOptions::default()) };
    let told = outcome(&mut cpu, &prompt, &greedy, None).await;
    assert_eq!(told.reason, FinishReason::Stop);
    assert_eq!(told.text.trim(), include_str!("fixtures/golden/hedgehog.txt").trim());
    let text = [&prompt[..], &told.ids].concat();
    let vocab = gpu.session.config().vocab;
    let chosen: Vec<usize> = logits(&mut gpu, &text).await.chunks(vocab).map(argmax).collect();
    let expected: Vec<usize> = told.ids.iter().map(|&id| id as usize).collect();
    assert_eq!(chosen[prompt.len() - 1..text.len() - 1], expected);
    let begun = generate(&mut gpu, &prompt, &GenerateOptions { max_tokens: Some(PART), ..greedy.clone() }).await;
    assert_eq!((&begun.0[..], begun.2), (&told.ids[..PART], FinishReason::Length));
    let (before, end) = told.ids.split_at(told.ids.len() - PART);
    let ended = generate(&mut gpu, &[&prompt, before].concat(), &greedy).await;
    assert_eq!((&ended.0[..], ended.2), (end, FinishReason::Stop));
    // A prompt of more than one prefill chunk.
    let long: Vec<u32> = ids(CHUNK + 10, 3072);
    let few = options(8, SamplingOptions::default());
    assert_eq!(generate(&mut gpu, &long, &few).await.0, generate(&mut cpu, &long, &few).await.0);
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn runs_share_the_cache_and_repeat_with_the_seed() {
    let [mut gpu, mut cpu] = both(include_bytes!("fixtures/models/llama-q8_0.gguf")).await;
    let prompt = ids(40, cpu.session.config().vocab);
    let sampling = SamplingOptions { temperature: 0.9, top_k: 50, top_p: 0.95, seed: 11, ..Default::default() };
    let warm = options(32, sampling);
    let first = generate(&mut gpu, &prompt, &warm).await;
    assert_eq!(first.1, 0, "nothing is cached at first");
    let again = generate(&mut gpu, &prompt, &warm).await;
    assert_eq!(again.0, first.0, "same seed, same ids");
    assert_eq!(again.1, prompt.len() - 1, "all but the last token of the prompt is cached");
    let other = generate(&mut gpu, &prompt, &options(32, SamplingOptions { seed: 12, ..sampling })).await;
    assert_ne!(other.0, first.0, "another seed, other ids");
    assert_eq!(generate(&mut cpu, &prompt, &warm).await.0, first.0, "the CPU draws the same ids");
    let longer: Vec<u32> = prompt.iter().chain(&other.0[..20]).copied().collect();
    let (_, cached, _) = generate(&mut gpu, &longer, &warm).await;
    assert_eq!(cached, longer.len() - 1, "prompt and answer of the last run are cached");
}

/// What the file suppresses is never chosen, however probable it is.
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn suppressed_tokens_are_never_generated() {
    let file = include_bytes!("fixtures/models/llama-q8_0.gguf");
    let mut engines = both(file).await;
    let prompt = ids(40, engines[1].session.config().vocab);
    let warm = SamplingOptions { temperature: 0.9, seed: 11, ..Default::default() };
    for sampling in [SamplingOptions::default(), warm, SamplingOptions { top_k: 50, top_p: 0.95, ..warm }] {
        let options = options(24, sampling);
        let freely = generate(&mut engines[0], &prompt, &options).await.0;
        let mut metadata = header(file).metadata;
        let suppressed = freely.iter().map(|&id| id as i32).collect();
        metadata.insert("tokenizer.ggml.suppress_tokens", Value::Array(Array::I32(suppressed)));
        let mut found = Vec::new();
        for engine in &mut engines {
            let tokenizer = Rc::new(Tokenizer::from_metadata(&metadata).expect("a vocabulary"));
            let before = std::mem::replace(&mut engine.tokenizer, tokenizer);
            found.push(generate(engine, &prompt, &options).await.0);
            engine.tokenizer = before;
        }
        assert_eq!(found[0], found[1], "both devices choose the same");
        assert!(found[0].len() == 24 && !found[0].iter().any(|id| freely.contains(id)), "{freely:?} {found:?}");
    }
}

/// In browsers alone: a driver in software, where passes are done as they are submitted, has none in flight.
#[cfg(target_arch = "wasm32")]
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn a_run_after_one_that_was_cancelled_with_all_reads_in_flight_is_whole() {
    let [mut gpu, _] = both(include_bytes!("fixtures/models/llama-q8_0.gguf")).await;
    let few = options(12, SamplingOptions::default());
    let alone = generate(&mut gpu, &[1, 2, 3], &few).await.0;
    gpu.reset();
    gpu.start(vec![4, 5, 6], options(200, SamplingOptions::default()), 0.0).expect("a good prompt");
    // The clock stands still: after a few tokens as many are in flight as there may be.
    while gpu.session.in_flight() < MAX_DEPTH {
        gpu.next(|| 0.0).await.expect("a working device").expect("more tokens");
    }
    gpu.stop.set(true);
    assert_eq!(gpu.next(|| 0.0).await.expect("a working device"), None);
    assert_eq!(gpu.finish().expect("a run").reason, FinishReason::Abort);
    let AnySession::Gpu(lane) = &gpu.session else { panic!("not on the GPU") };
    assert_eq!(lane.of_session(GpuSession::in_flight), MAX_DEPTH);
    assert_eq!(generate(&mut gpu, &[1, 2, 3], &few).await.0, alone);
    assert_eq!(alone.len(), 12);
}

/// A run to its end, or to where all reads are in flight after `tokens` tokens.
async fn outcome(engine: &mut Engine, prompt: &[u32], options: &GenerateOptions, tokens: Option<usize>) -> Outcome {
    engine.start(prompt.to_vec(), options.clone(), 0.0).expect("a good prompt");
    let mut seen = 0;
    while tokens.is_none_or(|tokens| seen < tokens) {
        // The clock stands still: after a few tokens as many are in flight as there may be.
        let Some(piece) = engine.next(|| 0.0).await.expect("a working device") else { break };
        seen += piece.ids.len();
    }
    engine.stop.set(true);
    engine.finish().expect("a run")
}

/// The text of a session that has seen nothing of it.
async fn fresh(engine: &mut Engine, prompt: &[u32]) -> Vec<u32> {
    engine.reset();
    outcome(engine, prompt, &options(8, SamplingOptions::default()), None).await.ids
}

/// A recurrent state has seen the tokens in flight behind a stop, and cannot go back: sessions start again from a
/// checkpoint, and say what fresh ones say.
async fn go_on_after(file: &[u8], name: &str) {
    go_on_after_with(both(file).await, name).await;
}

async fn go_on_after_with(engines: [Engine; 2], name: &str) {
    for mut engine in engines {
        let few = options(8, SamplingOptions::default());
        let prompt = ids(80, engine.session.config().vocab);
        let alone = fresh(&mut engine, &prompt).await;
        let again = generate(&mut engine, &prompt, &few).await;
        assert_eq!((&again.0, again.1), (&alone, prompt.len() - 1), "{name}: the same prompt again");

        let long = options(80, SamplingOptions::default());
        let told = outcome(&mut engine, &prompt, &long, None).await;
        let mut text = told.text.chars().skip(told.text.chars().count() / 2);
        let stop: String = text.by_ref().take(3).collect();
        let stopping = GenerateOptions { stop: vec![stop], ..long.clone() };
        for interrupted in [(&stopping, None), (&long, Some(40))] {
            let stopped = outcome(&mut engine, &prompt, interrupted.0, interrupted.1).await;
            assert_eq!(stopped.ids, told.ids[..stopped.ids.len()], "{name}: the same text until then");
            if let AnySession::Gpu(lane) = &engine.session
                && cfg!(target_arch = "wasm32")
            {
                // A native device may have run them all by now.
                let in_flight = lane.of_session(GpuSession::in_flight);
                assert!(in_flight + 1 >= MAX_DEPTH, "{name}: {in_flight} tokens in flight");
            }
            let next: Vec<u32> = [&prompt, &stopped.ids[..], &[7, 11]].concat();
            let (found, cached, _) = generate(&mut engine, &next, &few).await;
            assert!(cached >= prompt.len() - 1, "{name}: {cached} of {} cached", next.len());
            assert_eq!(found, fresh(&mut engine, &next).await, "{name}: after a stop at {}", stopped.ids.len());
        }

        let mut other = prompt.clone();
        other[70] = 5;
        generate(&mut engine, &prompt, &few).await;
        let found = generate(&mut engine, &other, &few).await.0;
        assert_eq!(found, fresh(&mut engine, &other).await, "{name}: a prompt that differs");
        logits(&mut engine, &prompt).await;
        let found = generate(&mut engine, &[&prompt[..], &[3, 4]].concat(), &few).await.0;
        assert_eq!(found, fresh(&mut engine, &[&prompt[..], &[3, 4]].concat()).await, "{name}: after evaluation");
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn recurrent_convolutions_go_on_after_a_stop() {
    go_on_after(include_bytes!("fixtures/models/lfm2-q8_0.gguf"), "lfm2").await;
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn recurrent_scans_go_on_after_a_stop() {
    go_on_after(include_bytes!("fixtures/models/mamba2-q8_0.gguf"), "mamba2").await;
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn two_sessions_of_a_model_share_its_weights_and_nothing_else() {
    let file = include_bytes!("fixtures/models/llama-q8_0.gguf");
    let device = Rc::new(Device::open().await.expect("a WebGPU device"));
    let first = on_gpu(device.clone(), device.caps.clone(), file, CONTEXT).await;
    let (model, before) = (first.model().clone(), device.bytes());
    let second = GpuSession::new(model.clone(), 64).await.expect("room for a second cache");
    assert!(device.bytes() - before < second.bytes() - model.bytes() + 1, "the weights are there once");
    let gguf = header(file);
    let tokenizer = || Tokenizer::from_metadata(&gguf.metadata).expect("a vocabulary");
    let engine = |session| Engine::new(AnySession::of_gpu(session), tokenizer());
    let [mut first, mut second] = [engine(first), engine(second)];
    let few = options(10, SamplingOptions::default());
    let prompts: [&[u32]; 2] = [&[1, 2, 3, 4, 5], &[9, 8, 7]];
    let alone = [generate(&mut first, prompts[0], &few).await.0, generate(&mut first, prompts[1], &few).await.0];
    first.reset();
    // Token by token in turn: neither sees the other's cache.
    first.start(prompts[0].to_vec(), few.clone(), 0.0).expect("a good prompt");
    second.start(prompts[1].to_vec(), few.clone(), 0.0).expect("a good prompt");
    loop {
        let a = first.next(|| 0.0).await.expect("a working device");
        let b = second.next(|| 0.0).await.expect("a working device");
        if a.is_none() && b.is_none() {
            break;
        }
    }
    assert_eq!([first.finish().expect("a run").ids, second.finish().expect("a run").ids], alone);
    drop((first, second));
    assert_eq!(device.bytes(), model.bytes(), "sessions take their buffers with them");
    drop(model);
    assert_eq!(device.bytes(), 0, "and so does the model");
}

/// A fork goes on as its origin would, and neither sees what the other reads.
async fn fork_goes_on(file: &[u8], name: &str) {
    let device = device().await;
    let session = on_gpu(device.clone(), device.caps.clone(), file, CONTEXT).await;
    let tokenizer = Tokenizer::from_metadata(&header(file).metadata).expect("a vocabulary");
    let mut first = Engine::new(AnySession::of_gpu(session), tokenizer);
    let few = options(8, SamplingOptions::default());
    let prompt = ids(100, first.session.config().vocab);
    let answer = generate(&mut first, &prompt, &few).await.0;
    let mut fork = first.another(true).await.expect("room for a second cache");
    let other = generate(&mut first, &[9, 8, 7, 6], &few).await.0;
    let longer = [&prompt[..], &answer, &[3, 4]].concat();
    let (found, cached, _) = generate(&mut fork, &longer, &few).await;
    assert!(cached >= 64, "{name}: {cached} tokens were cached");
    let mut fresh = first.another(false).await.expect("room for a third cache");
    assert_eq!(found, generate(&mut fresh, &longer, &few).await.0, "{name}: the fork");
    assert_eq!(other, generate(&mut first, &[9, 8, 7, 6], &few).await.0, "{name}: its origin");
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn forks_go_on_alone() {
    fork_goes_on(include_bytes!("fixtures/models/llama-q8_0.gguf"), "llama").await;
    fork_goes_on(include_bytes!("fixtures/models/lfm2-q8_0.gguf"), "lfm2").await;
    fork_goes_on(include_bytes!("fixtures/models/mamba2-q8_0.gguf"), "mamba2").await;
}

async fn save(engine: &mut Engine) -> Vec<u8> {
    let mut file = engine.save_head("notes".into(), None).await.expect("an idle engine");
    for number in 0.. {
        let Some(part) = engine.read_part(number).await.expect("a working device") else { break };
        file.extend(part);
    }
    file
}

async fn restore_in(made: &mut Engine, file: &[u8]) -> webgguf::Result<()> {
    let size = file.len() as u64;
    let [head, _] = made.check_saved(&file[..START], size)?;
    let (head, parts) = file.split_at(head as usize);
    let (notes, part) = made.restore_head(head, size).await?;
    assert_eq!(notes, "notes");
    for (number, bytes) in parts.chunks(part.max(1) as usize).take_while(|_| part > 0).enumerate() {
        made.write_part(number as u32, bytes).await?;
    }
    Ok(())
}

async fn restore(engine: &Engine, file: &[u8]) -> webgguf::Result<Engine> {
    let mut made = engine.another(false).await?;
    restore_in(&mut made, file).await?;
    Ok(made)
}

/// A session that was saved after `prompt` tokens and an answer goes on as the one that was not, and reads as little.
async fn saved_goes_on(name: &str, file: &[u8], room: Room, prompt: usize) {
    let [empty, _] = both_with(file, room.context, |caps| caps).await;
    let mut first = in_room(&empty, file, room).await;
    let few = options(8, SamplingOptions::default());
    let prompt = ids(prompt, first.session.config().vocab);
    let answer = generate(&mut first, &prompt, &few).await.0;
    let saved = save(&mut first).await;
    let other = in_room(&empty, file, Room { allocated: room.context.min(64), ..room }).await;
    let mut restored = restore(&other, &saved).await.expect("the same model");
    let longer = [&prompt[..], &answer, &[3, 4]].concat();
    let expected = generate(&mut first, &longer, &few).await;
    assert!(expected.1 >= prompt.len() - 64, "{name}: {} tokens were cached", expected.1);
    assert_eq!(generate(&mut restored, &longer, &few).await, expected, "{name}: tokens, cached tokens");
    // From the end of the prompt again, where a recurrent state needs a copy of the past.
    let back = [&prompt[..], &[7, 8, 9]].concat();
    let mut restored = restore(&other, &saved).await.expect("the same model");
    let mut again = restore(&other, &save(&mut restored).await).await.expect("the same model");
    let fresh = generate(&mut other.another(false).await.expect("room"), &back, &few).await;
    let found = generate(&mut again, &back, &few).await;
    assert_eq!(found.0, fresh.0, "{name}: saved twice, then back");
    assert!(found.1 >= prompt.len() - 64, "{name}: {} tokens were cached, back", found.1);
    console_log!("{name}: {} bytes for {} tokens", saved.len(), prompt.len() + answer.len());
    refuses_others(name, file, &other, &saved).await;
}

/// Changed bytes are refused; caches of another kind are not used.
async fn refuses_others(name: &str, file: &[u8], engine: &Engine, saved: &[u8]) {
    for at in [saved.len() / 2, saved.len() - 1] {
        let mut changed = saved.to_vec();
        changed[at] ^= 1;
        let error = restore(engine, &changed).await.err().expect("changed bytes");
        assert_eq!(error.code(), ErrorCode::IntegrityFailed, "{name}: {error}");
    }
    let cut = restore(engine, &saved[..saved.len() - 4]).await.err().expect("bytes are missing");
    assert_eq!(cut.code(), ErrorCode::BadFile, "{name}: {cut}");
    let context = engine.session.context_length();
    let kv_type = if engine.session.kv_type() == KvType::F16 { KvType::Q8_0 } else { KvType::F16 };
    let prompt = ids(20, engine.session.config().vocab);
    for room in [Room { kv_type, ..Room::one(context) }, Room::one(context - 1)] {
        let other = in_room(engine, file, room).await;
        let mut restored = restore(&other, saved).await.expect("the same model");
        let found = generate(&mut restored, &prompt, &options(2, SamplingOptions::default())).await;
        assert_eq!(found.1, 0, "{name}: caches of {room:?}");
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn saved_caches_go_on() {
    let llama = include_bytes!("fixtures/models/llama-q8_0.gguf");
    // As much room as a long context takes, of which the restored session has less.
    saved_goes_on("llama", llama, Room::one(CONTEXT).whole(), 100).await;
    for kv_type in [KvType::Q8_0, KvType::Q4_0] {
        saved_goes_on(kv_type.as_str(), llama, Room { kv_type, ..Room::one(CONTEXT) }, 100).await;
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn saved_rings_go_on() {
    saved_goes_on("gemma3", include_bytes!("fixtures/models/gemma3-q5_1.gguf"), Room::one(1024), 700).await;
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn saved_states_go_on() {
    saved_goes_on("qwen35", FILES[2], Room::one(CONTEXT), 100).await;
    saved_goes_on("lfm2", include_bytes!("fixtures/models/lfm2-q8_0.gguf"), Room::one(CONTEXT), 100).await;
    saved_goes_on("mamba2", include_bytes!("fixtures/models/mamba2-q8_0.gguf"), Room::one(CONTEXT), 100).await;
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn hidden_states_reach_a_tensor_without_leaving_the_gpu() {
    let file = include_bytes!("fixtures/models/llama-q4_k_m.gguf");
    let device = Rc::new(Device::open().await.expect("a WebGPU device"));
    let mut tensors = TensorGpu::new(device.clone()).expect("room for parameters");
    let session = on_gpu(device.clone(), device.caps.clone(), file, 1024).await;
    let tokenizer = Tokenizer::from_metadata(&header(file).metadata).expect("a vocabulary");
    let mut gpu = Engine::new(AnySession::of_gpu(session), tokenizer);
    let (hidden, vocab) = (gpu.session.config().hidden, gpu.session.config().vocab);
    // More than one prefill chunk.
    let text = ids(520, vocab);
    let tensor = tensors.output(DType::F32, &[text.len() as u32, hidden as u32]).expect("room for a tensor");
    let target = tensors.buffer(&tensor);
    assert!(gpu.hidden_states(&text, &device, &target).await.expect("a working device"), "nothing stops it");
    let found: Vec<f32> = bytemuck::pod_collect_to_vec(&tensors.read(&tensor).await.expect("a working device"));
    let expected = hidden_states_on_cpu(file, &text);
    for (position, (found, expected)) in found.chunks(hidden).zip(expected.chunks(hidden)).enumerate() {
        let size = |values: &mut dyn Iterator<Item = f32>| values.map(|x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        let error = size(&mut found.iter().zip(expected).map(|(a, b)| a - b)) / size(&mut expected.iter().copied());
        assert!(error < 2e-3, "hidden state {position} is off by {error:.2e}");
    }
    // Operations on tensors take it from there, on the same device.
    let options = ReduceOptions { op: ReduceOp::Sum, axis: Some(0), keep_dims: false };
    let sums = tensors.record(|tape| reduce(tape, &tensor, &options)).expect("a good operation");
    let sums: Vec<f32> = bytemuck::pod_collect_to_vec(&tensors.read(&sums).await.expect("a working device"));
    let first: f32 = found.iter().step_by(hidden).sum();
    assert!((sums[0] - first).abs() < 1e-2 * first.abs().max(1.0), "{} is not {first}", sums[0]);
    let other = Rc::new(Device::open().await.expect("a WebGPU device"));
    let refused = gpu.hidden_states(&text, &other, &target).await.expect_err("another device");
    assert_eq!(refused.code().as_str(), "invalid_argument");
}

/// What a page waits for after Stop: 250 ms at most, or what that is on a busier machine than one that reads the whole
/// prompt in two and a half seconds. The middle of three, since others use the processors, too.
#[cfg(target_arch = "wasm32")]
#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn a_cancel_within_a_long_prompt_takes_effect_soon() {
    let file = include_bytes!("../www/models/storyteller.gguf");
    let device = device().await;
    let mut session = AnySession::of_gpu(on_gpu(device.clone(), device.caps.clone(), file, 2048).await);
    let prompt = ids(CHUNK + 100, 3072);
    let start = now();
    session.feed(&prompt, 0, &Rc::new(Cell::new(false))).await.expect("a working device");
    let whole = now() - start;
    let mut waits = Vec::new();
    for attempt in 1..=3u8 {
        let stop = Rc::new(Cell::new(false));
        let (when, setter) = (Rc::new(Cell::new(0.0)), stop.clone());
        let noted = when.clone();
        let into = whole * f64::from(attempt) / 8.0;
        wasm_bindgen_futures::spawn_local(async move {
            sleep(into).await;
            setter.set(true);
            noted.set(now());
        });
        let fed = session.feed(&prompt, 0, &stop).await.expect("a working device");
        let wait = now() - when.get();
        console_log!("{fed} of {} tokens; stopped {wait:.0} ms after the cancel at {into:.0} ms", prompt.len());
        assert!(fed < prompt.len(), "the prompt takes longer than {into:.0} ms: {whole:.0} ms before");
        waits.push(wait);
    }
    waits.sort_by(f64::total_cmp);
    let most = 250f64.max(250.0 * whole / 2500.0);
    assert!(
        waits[1] < most,
        "{waits:?} ms from cancels to their ends, {most:.0} wanted; the prompt takes {whole:.0} ms"
    );
}

/// What is evaluated or read for its hidden states ends after the pass in which `stop` was set, and a text goes on from
/// there.
async fn stop_at_a_cancel(engine: &mut Engine, device: &Rc<Device>) {
    let mut tensors = TensorGpu::new(device.clone()).expect("room for parameters");
    let (hidden, vocab) = (engine.session.config().hidden as u32, engine.session.config().vocab);
    let (text, greedy) = (ids(CHUNK + 20, vocab), options(4, SamplingOptions::default()));
    let expected = generate(engine, &text, &greedy).await.0;
    let (stop, mut rows) = (engine.stop.clone(), 0);
    let count_two = |_: usize, logits: &[f32]| {
        stop.set(rows > 0);
        rows += logits.len() / vocab;
    };
    let is_whole = engine.evaluate(&text, count_two).await.expect("a working device");
    assert_eq!((is_whole, rows, engine.common_prefix(&text)), (false, 2 * EVALUATE_CHUNK, 2 * EVALUATE_CHUNK));
    let (found, cached, _) = generate(engine, &text, &greedy).await;
    assert_eq!((found, cached), (expected.clone(), 2 * EVALUATE_CHUNK));
    let tensor = tensors.output(DType::F32, &[text.len() as u32, hidden]).expect("room for a tensor");
    engine.stop.set(true);
    let outcome = engine.hidden_states(&text, device, &tensors.buffer(&tensor)).await;
    assert_eq!(outcome, Ok(false));
    // The first pass ends early where a device is so slow that it takes several submits.
    assert!(engine.common_prefix(&text) <= CHUNK, "{} tokens were read", engine.common_prefix(&text));
    assert_eq!(generate(engine, &text, &greedy).await.0, expected);
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn evaluations_and_hidden_states_stop_at_a_cancel() {
    let file = include_bytes!("fixtures/models/llama-f32.gguf");
    let device = device().await;
    let session = on_gpu(device.clone(), device.caps.clone(), file, 1024).await;
    let room = Room { sequences: 2, rows: 2, ..Room::one(1024) };
    let lanes = GpuSession::with_room(session.model().clone(), room).await.expect("room");
    for session in [session, lanes].map(AnySession::of_gpu) {
        stop_at_a_cancel(&mut engine_of(session, file), &device).await;
    }
}

#[cfg(target_arch = "wasm32")]
async fn sleep(ms: f64) {
    let start = now();
    while now() - start < ms {
        yield_now().await;
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn wrong_calls_are_refused_and_leave_the_engine_usable() {
    let [mut gpu, _] = both(include_bytes!("fixtures/models/llama-q5_0.gguf")).await;
    let vocab = gpu.session.config().vocab as u32;
    let greedy = options(4, SamplingOptions::default());
    let code = |outcome: webgguf::Result<usize>| outcome.expect_err("refused").code().as_str();
    assert_eq!(code(gpu.start(vec![vocab], greedy.clone(), 0.0)), "invalid_argument");
    assert_eq!(code(gpu.start(vec![], greedy.clone(), 0.0)), "invalid_argument");
    assert_eq!(code(gpu.start(vec![1; CONTEXT], greedy.clone(), 0.0)), "context_full");
    gpu.start(vec![1, 2, 3], greedy.clone(), 0.0).expect("a good prompt");
    assert_eq!(code(gpu.start(vec![1], greedy.clone(), 0.0)), "invalid_argument");
    gpu.next(|| 0.0).await.expect("a working device");
    // A piece of a native device may have all of an answer.
    let reason = if cfg!(target_arch = "wasm32") { "abort" } else { "length" };
    assert_eq!(gpu.finish().expect("a run").reason.as_str(), reason);
    // The tokens in flight belong to the cancelled run: the next one must not see them.
    let after = generate(&mut gpu, &[1, 2, 3], &greedy).await;
    gpu.reset();
    assert_eq!(generate(&mut gpu, &[1, 2, 3], &greedy).await.0, after.0);
    let full = generate(&mut gpu, &vec![1; CONTEXT - 2], &options(100, SamplingOptions::default())).await;
    assert_eq!((full.0.len(), full.2), (2, FinishReason::Length));
}

/// Decode reads ids one by one: each choice must be the CPU's wherever that is clear.
async fn decode_step_by_step(name: &str, file: &[u8]) {
    let [mut gpu, mut cpu] = both(file).await;
    let vocab = cpu.session.config().vocab;
    let text = ids(60, vocab);
    let expected = logits(&mut cpu, &text).await;
    gpu.session.configure(&SamplingOptions::default(), &RunIds::default(), &[]);
    for (position, row) in expected.chunks(vocab).enumerate() {
        gpu.session.feed(&text[position..=position], position, &Cell::new(false)).await.expect("a working device");
        let found = gpu.session.next().await.expect("a working device").expect("a token").id;
        let best = row[argmax(row)];
        assert!(
            best - row[found as usize] < 0.02,
            "{name} at {position}: {found} has {}, the best has {best}",
            row[found as usize]
        );
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn gemma_is_decoded_step_by_step() {
    decode_step_by_step("gemma3-f16", include_bytes!("fixtures/models/gemma3-f16.gguf")).await;
    decode_step_by_step("gemma3-q5_1", include_bytes!("fixtures/models/gemma3-q5_1.gguf")).await;
    decode_step_by_step("gemma2-q4_0", include_bytes!("fixtures/models/gemma2-q4_0.gguf")).await;
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn qwen35_is_decoded_step_by_step() {
    decode_step_by_step("qwen35-q8_0", include_bytes!("fixtures/models/qwen35-q8_0.gguf")).await;
}

/// The model's sliding layers keep fewer positions than the text has: it must not matter, also where a prompt goes
/// back.
#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn sliding_layers_keep_a_ring_of_positions() {
    let file = include_bytes!("fixtures/models/gemma3-q5_1.gguf");
    let [mut gpu, mut cpu] = both_with(file, 1024, |caps| caps).await;
    let vocab = cpu.session.config().vocab;
    let greedy = options(12, SamplingOptions::default());
    let long = ids(700, vocab);
    // Far back: what the first layer's window needs was written over. Near the end: it is still there.
    let back = |keep: usize| [&long[..keep], &ids(20, vocab)].concat();
    for (prompt, cached) in [(long.clone(), 0), (back(100), 0), (back(690), 100), (back(680), 680)] {
        let found = generate(&mut gpu, &prompt, &greedy).await;
        assert_eq!(found.1, cached, "cached tokens of a prompt of {}", prompt.len());
        assert_eq!(found.0, generate(&mut cpu, &prompt, &greedy).await.0, "after a prompt of {}", prompt.len());
    }
}

/// A session of the engine's model with four sequences, and passes of up to eight rows.
async fn few_rows(engine: &Engine) -> FewRows {
    let AnySession::Gpu(session) = &engine.session else { panic!("not on the GPU") };
    let room = Room { sequences: 4, rows: 8, ..Room::one(CONTEXT) };
    FewRows::new(GpuSession::with_room(session.model().clone(), room).await.expect("room for four sequences"))
}

fn row(sequence: usize, position: usize, token: u32) -> Row {
    Row { token, position: position as u32, sequence: sequence as u32, flags: 0 }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn sequences_of_one_pass_get_what_each_gets_alone() {
    const STEPS: usize = 12;
    for file in FILES {
        let [mut engine, _] = both(file).await;
        let vocab = engine.session.config().vocab;
        let prompts: Vec<Vec<u32>> = [5, 40, 17, 70].map(|n| ids(n + 9, vocab)[9..].to_vec()).into();
        let greedy = options(STEPS, SamplingOptions::default());
        let mut alone = Vec::new();
        for prompt in &prompts {
            alone.push(generate(&mut engine, prompt, &greedy).await.0);
        }
        for count in [2, 4] {
            let mut session = few_rows(&engine).await;
            let mut rows = Vec::new();
            for (sequence, prompt) in prompts[..count].iter().enumerate() {
                let (&last, before) = prompt.split_last().expect("a token");
                session.read_sequence(sequence as u32, 0, before).await.expect("a working device");
                rows.push(row(sequence, before.len(), last));
            }
            // Rows in another order than sequences.
            rows.reverse();
            let steps = session.decode_rows(&rows, STEPS).await.expect("a working device");
            for (index, row) in rows.iter().enumerate() {
                let found: Vec<u32> = steps.iter().map(|step| step[index].token).collect();
                assert_eq!(found, alone[row.sequence as usize], "sequence {} of {count}", row.sequence);
            }
            let last = steps[STEPS - 1][0];
            assert_eq!((last.steps as usize, last.position), (STEPS, rows[0].position + STEPS as u32));
        }
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn a_pass_of_rows_of_one_sequence_gives_the_logits_of_single_steps() {
    const START: usize = 37;
    for file in FILES {
        let [engine, _] = both(file).await;
        let vocab = engine.session.config().vocab;
        let text = ids(START + 8, vocab);
        let rows: Vec<Row> = (START..text.len()).map(|at| row(1, at, text[at])).collect();
        let mut session = few_rows(&engine).await;
        session.read_sequence(1, 0, &text[..START]).await.expect("a working device");
        let mut single = Vec::new();
        for row in &rows {
            single.push(session.logits_of_rows(std::slice::from_ref(row)).await.expect("a working device"));
        }
        for count in 2..=8 {
            let mut session = few_rows(&engine).await;
            session.read_sequence(1, 0, &text[..START]).await.expect("a working device");
            let together = session.logits_of_rows(&rows[..count]).await.expect("a working device");
            for (index, (found, expected)) in together.chunks(vocab).zip(&single).enumerate() {
                let error = relative_error(found, expected);
                assert!(error < 1e-4, "row {index} of {count} is off by {error:.2e}");
            }
        }
    }
}

fn relative_error(found: &[f32], expected: &[f32]) -> f64 {
    let size = |values: &mut dyn Iterator<Item = f32>| values.map(|x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    size(&mut found.iter().zip(expected).map(|(a, b)| a - b)) / size(&mut expected.iter().copied())
}

/// Gemma 4 with embeddings per layer.
const PER_LAYER: &[u8] = include_bytes!("fixtures/models/gemma4-e-q8_0.gguf");

fn with_slots(slots: u32) -> impl FnOnce(Caps) -> Caps {
    move |caps| Caps { per_layer_embeddings: PerLayerEmbeddings::Slots(slots), ..caps }
}

/// [`PER_LAYER`] with so many slots for rows of its table of 335, and what is read of the others.
async fn few_slots(slots: u32) -> (Engine, Watch) {
    let (device, watch) = (device().await, Watch::default());
    let caps = with_slots(slots)(device.caps.clone());
    let session = watched(device, caps, PER_LAYER, CONTEXT, &watch).await;
    let tokenizer = Tokenizer::from_metadata(&header(PER_LAYER).metadata).expect("a vocabulary");
    (Engine::new(AnySession::of_gpu(session), tokenizer), watch)
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn rows_on_the_host_give_the_logits_and_the_text_of_rows_on_the_gpu() {
    let [mut whole, _] = both(PER_LAYER).await;
    let vocab = whole.session.config().vocab;
    let text = ids(120, vocab);
    let (mut few, watch) = few_slots(16).await;
    assert_eq!(logits(&mut few, &text).await, logits(&mut whole, &text).await);
    assert!(watch.rows() > 80, "{} rows were read", watch.rows());
    let warm = SamplingOptions { temperature: 1.3, repetition_penalty: 1.2, seed: 5, ..Default::default() };
    for sampling in [SamplingOptions::default(), warm] {
        let options = options(16, sampling);
        let before = watch.reads.borrow().len();
        let expected = generate(&mut whole, &text[..30], &options).await;
        assert_eq!(generate(&mut few, &text[..30], &options).await, expected);
        let reads = watch.reads.borrow().len() - before;
        assert!(reads > 8, "16 tokens in 16 slots: {reads} reads");
    }
    compare("rows on the host", both_with(PER_LAYER, CONTEXT, with_slots(200)).await).await;
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn a_row_in_a_slot_is_not_read() {
    let (mut engine, watch) = few_slots(300).await;
    let vocab = engine.session.config().vocab;
    let warm = options(60, SamplingOptions { temperature: 1.5, seed: 3, ..Default::default() });
    let prompt = ids(40, vocab);
    let first = generate(&mut engine, &prompt, &warm).await.0;
    let used: std::collections::BTreeSet<u32> = prompt.iter().chain(&first).copied().collect();
    let mut read = watch.reads.borrow().concat();
    let count = read.len();
    read.sort_unstable();
    read.dedup();
    assert_eq!(read.len(), count, "each once");
    // The slots begin with the first rows, of which the last make room. No pass is over the last token.
    assert!(read.iter().all(|id| used.contains(id) && *id >= 300 - count as u32), "{read:?}");
    let missing = |id: &&u32| **id >= 300 && (prompt.contains(id) || first[..59].contains(id));
    let missing: Vec<u32> = used.iter().filter(missing).copied().collect();
    assert!(!missing.is_empty() && missing.iter().all(|id| read.contains(id)), "{missing:?} of {read:?}");
    engine.reset();
    assert_eq!(generate(&mut engine, &prompt, &warm).await.0, first);
    assert_eq!(watch.rows(), count, "the second time nothing is read");
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn runs_go_on_after_a_stop_while_rows_are_on_the_host() {
    // Each miss wastes the 16 passes in flight, so that fewer slots take minutes without a GPU.
    let (gpu, watch) = few_slots(150).await;
    let cpu = AnySession::Cpu(Box::new(CpuSession::new(on_cpu(PER_LAYER, CONTEXT))));
    go_on_after_with([gpu, engine_of(cpu, PER_LAYER)], "gemma4-e in 150 slots").await;
    let missed = watch.reads.borrow().len();
    console_log!("{missed} reads of rows that are in no slot");
    assert!(missed > 8, "{missed} reads: the test says nothing");
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn a_read_that_fails_ends_the_run_and_leaves_the_session_usable() {
    let (mut engine, watch) = few_slots(16).await;
    let long = options(16, SamplingOptions::default());
    let prompt = ids(30, engine.session.config().vocab);
    let whole = generate(&mut engine, &prompt, &long).await.0;
    engine.reset();
    engine.start(prompt.clone(), long.clone(), 0.0).expect("a good prompt");
    let mut seen = engine.next(|| 0.0).await.expect("a working device").expect("a token").ids;
    watch.broken.set(true);
    let (more, error) = until_it_fails(&mut engine).await;
    seen.extend(more);
    assert_eq!((error.code(), error.message()), (ErrorCode::DownloadFailed, "the table is gone"));
    assert_eq!(seen, whole[..seen.len()], "what came before is right");
    let error = engine.start(ids(300, 335)[250..].to_vec(), long.clone(), 0.0).map(drop);
    assert_eq!(error, Ok(()), "the run is over");
    assert_eq!(engine.next(|| 0.0).await.expect_err("still broken").code(), ErrorCode::DownloadFailed);
    watch.broken.set(false);
    assert_eq!(generate(&mut engine, &prompt, &long).await.0, whole);
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn sequences_of_one_pass_read_rows_on_the_host() {
    const STEPS: usize = 12;
    let [mut whole, _] = both(PER_LAYER).await;
    let (few, watch) = few_slots(16).await;
    let vocab = whole.session.config().vocab;
    let prompts: Vec<Vec<u32>> = [5, 40, 17].map(|n| ids(n + 9, vocab)[9..].to_vec()).into();
    let mut session = few_rows(&few).await;
    let (mut alone, mut rows) = (Vec::new(), Vec::new());
    for (sequence, prompt) in prompts.iter().enumerate() {
        alone.push(generate(&mut whole, prompt, &options(STEPS, SamplingOptions::default())).await.0);
        let (&last, before) = prompt.split_last().expect("a token");
        session.read_sequence(sequence as u32, 0, before).await.expect("a working device");
        rows.push(row(sequence, before.len(), last));
    }
    let before = watch.rows();
    let steps = session.decode_rows(&rows, STEPS).await.expect("a working device");
    for (index, expected) in alone.iter().enumerate() {
        let found: Vec<u32> = steps.iter().map(|step| step[index].token).collect();
        assert_eq!(&found, expected, "sequence {index}");
    }
    assert!(watch.rows() > before, "the test says nothing");
}

/// An engine over a session of its own of a model that is on the GPU.
async fn in_room(engine: &Engine, file: &[u8], room: Room) -> Engine {
    let AnySession::Gpu(session) = &engine.session else { panic!("not on the GPU") };
    let session = GpuSession::with_room(session.model().clone(), room).await.expect("room");
    engine_of(AnySession::of_gpu(session), file)
}

/// A value near the middle between two quants may fall to either side: most positions agree as closely as with f16.
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn caches_in_blocks_agree_with_the_cpu() {
    for file in &FILES[..2] {
        let [mut halves, _] = both(file).await;
        let vocab = halves.session.config().vocab;
        let text = ids(300, vocab);
        let of_halves = logits(&mut halves, &text).await;
        for kv_type in [KvType::Q8_0, KvType::Q4_0] {
            let mut gpu = in_room(&halves, file, Room { kv_type, ..Room::one(CONTEXT) }).await;
            let cpu = CpuSession::new(cpu_model(file, CONTEXT, CacheFormat::Rounded(kv_type)));
            let mut cpu = engine_of(AnySession::Cpu(Box::new(cpu)), file);
            assert_eq!([gpu.session.kv_type(), cpu.session.kv_type()], [kv_type; 2]);
            let [found, expected] = [logits(&mut gpu, &text).await, logits(&mut cpu, &text).await];
            let errors = found.chunks(vocab).zip(expected.chunks(vocab)).map(|(a, b)| relative_error(a, b));
            let mut errors: Vec<f64> = errors.collect();
            errors.sort_by(f64::total_cmp);
            let (middle, worst) = (errors[errors.len() / 2], errors[errors.len() - 1]);
            let moved = relative_error(&found, &of_halves);
            console_log!("{kv_type:?}: errors {middle:.1e}, at most {worst:.1e}; {moved:.1e} from f16");
            assert!(middle < 2e-3 && worst < 3e-2, "{kv_type:?}: {middle:.2e}, at most {worst:.2e}");
            assert!(moved > 3.0 * middle && moved < 0.5, "{kv_type:?} is {moved:.2e} from f16");
        }
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn caches_that_grow_give_the_text_of_those_that_need_not() {
    for (file, kv_types) in
        FILES.into_iter().zip([[KvType::F16, KvType::Q4_0].as_slice(), &[KvType::F16], &[KvType::Q8_0]])
    {
        let [first, _] = both(file).await;
        let vocab = first.session.config().vocab;
        for &kv_type in kv_types {
            let whole = Room { kv_type, ..Room::one(640) };
            let [mut still, mut growing] =
                [in_room(&first, file, whole).await, in_room(&first, file, Room { allocated: 20, ..whole }).await];
            // Grows in flight, at 20 and 40; within a prompt; and in flight again.
            let text = ids(300, vocab);
            for (keep, tokens) in [(13, 30), (300, 4), (298, 26)] {
                let greedy = options(tokens, SamplingOptions::default());
                let expected = generate(&mut still, &text[..keep], &greedy).await;
                assert_eq!(generate(&mut growing, &text[..keep], &greedy).await, expected, "{kv_type:?}, {keep}");
            }
        }
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn grown_caches_are_counted_and_the_old_ones_freed() {
    let file = FILES[0];
    let [first, _] = both(file).await;
    let AnySession::Gpu(session) = &first.session else { panic!("not on the GPU") };
    let device = session.model().device().clone();
    let bytes = |engine: &Engine| match &engine.session {
        AnySession::Gpu(lane) => lane.of_session(GpuSession::bytes),
        _ => 0,
    };
    let whole = Room::one(600);
    let [still, mut growing] =
        [in_room(&first, file, whole).await, in_room(&first, file, Room { allocated: 8, ..whole }).await];
    let (before, on_device) = (bytes(&growing), device.bytes());
    assert!(before < bytes(&still));
    let vocab = first.session.config().vocab;
    logits(&mut growing, &ids(560, vocab)).await;
    // Evaluation has a list and a buffer of its own.
    let grown = device.bytes() - on_device;
    assert_eq!(grown, bytes(&growing) - before);
    let text = generate(&mut growing, &ids(500, vocab), &options(2, SamplingOptions::default())).await;
    assert_eq!(text.1, 499, "the cache is still there");
    assert!(bytes(&growing) > bytes(&still));
}

/// The tokens that a run gives before it ends with an error, and the error.
async fn until_it_fails(engine: &mut Engine) -> (Vec<u32>, Error) {
    let mut found = Vec::new();
    loop {
        match engine.next(|| 0.0).await {
            Ok(piece) => found.extend(piece.expect("not the end").ids),
            Err(error) => return (found, error),
        }
    }
}

/// The browser says that there is no memory, so many times.
#[cfg(target_arch = "wasm32")]
fn out_of_memory(times: u32) {
    let script = format!(
        "(() => {{
            const real = (globalThis.realPop ??= GPUDevice.prototype.popErrorScope);
            let left = {times};
            GPUDevice.prototype.popErrorScope = async function () {{
                const found = await real.call(this);
                return left-- > 0 ? new GPUOutOfMemoryError('no memory') : found;
            }};
        }})()"
    );
    js_sys::eval(&script).expect("a script");
}

#[cfg(target_arch = "wasm32")]
#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn memory_that_is_missing_ends_the_run_and_leaves_the_session_usable() {
    let file = FILES[2];
    let [mut still, _] = both(file).await;
    let mut growing = in_room(&still, file, Room { allocated: 16, ..Room::one(CONTEXT) }).await;
    let prompt = ids(10, still.session.config().vocab);
    let greedy = options(30, SamplingOptions::default());
    let expected = generate(&mut still, &prompt, &greedy).await.0;

    out_of_memory(2);
    growing.start(prompt.clone(), greedy.clone(), 0.0).expect("a good prompt");
    let (found, error) = until_it_fails(&mut growing).await;
    // The last of the 16 positions gives one more token.
    assert_eq!(found, expected[..7]);
    assert_eq!(error.code(), ErrorCode::OutOfMemory);
    assert!(error.message().ends_with("a KV cache of 17 tokens: 16 tokens still fit"), "{error}");
    // A prompt that does not fit, either.
    growing.start(ids(40, 90), greedy.clone(), 0.0).expect("a good prompt");
    out_of_memory(2);
    assert_eq!(growing.next(|| 0.0).await.map(drop).map_err(|error| error.code()), Err(ErrorCode::OutOfMemory));
    out_of_memory(0);
    assert_eq!(generate(&mut growing, &prompt, &greedy).await.0, expected);
}
