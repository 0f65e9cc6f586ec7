//! Models whose decoder attends to a source (T5) on a WebGPU device against llama.cpp: see tests/fixtures/sources.
#![cfg(all(feature = "harness", any(target_arch = "wasm32", feature = "gpu-tests")))]

#[path = "common/console.rs"]
mod console;
#[path = "common/device.rs"]
mod device;
#[allow(dead_code)]
#[path = "common/in_memory.rs"]
mod in_memory;
#[path = "common/log_probabilities.rs"]
mod log_probabilities;

use serde_json::Value as Json;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use webgguf::ErrorCode;
use webgguf::cpu::{CacheFormat, Logits};
use webgguf::forward::Room;
use webgguf::kernels::kv_type::KvType;
use webgguf::model::match_tensors;
use webgguf::runtime::{AnySession, Engine, GenerateOptions, GpuModelBuilder, GpuSession, Outcome};

use console::console_log;
use device::device;
use in_memory::{cpu_model, engine_of, header, put_weights, together};
use log_probabilities::difference;

wasm_bindgen_test_configure!(run_in_browser);

const F16: &[u8] = include_bytes!("fixtures/sources/t5-f16.gguf");
const F16_SAYS: &str = include_str!("fixtures/sources/t5-f16.json");
const Q8_0: &[u8] = include_bytes!("fixtures/sources/t5-q8_0.gguf");
const Q8_0_SAYS: &str = include_str!("fixtures/sources/t5-q8_0.json");

/// What llama.cpp says of a source.
struct Expected {
    source: Vec<u32>,
    greedy: Vec<u32>,
    logits: Vec<Vec<f32>>,
}

/// The ids of the decoder that logits are of, after how many of them, the start token, and each source.
fn expectations(json: &str) -> (Vec<u32>, Vec<usize>, u32, Vec<Expected>) {
    let json: Json = serde_json::from_str(json).expect("JSON");
    fn of<T: serde::de::DeserializeOwned>(json: &Json) -> T {
        serde_json::from_value(json.clone()).expect("another type")
    }
    let sources = json["sources"].as_array().expect("sources").iter();
    let expected = |of_one: &Json| Expected {
        source: of(&of_one["source"]),
        greedy: of(&of_one["greedy"]),
        logits: of(&of_one["logits"]),
    };
    (of(&json["forced"]), of(&json["shown"]), of(&json["start"]), sources.map(expected).collect())
}

/// The model of `file` on the GPU, in sessions with this room.
async fn on_gpu(file: &[u8], room: Room) -> Engine {
    let (device, gguf) = (device().await, header(file));
    let caps = device.caps.clone();
    let config = webgguf::model::config(&gguf).expect("a known model");
    let matched = match_tensors(&config, &gguf.tensors).expect("all tensors");
    let mut builder = GpuModelBuilder::new(device, caps, config, room, &gguf.tensors, matched).expect("room");
    put_weights(&mut builder, file, &gguf);
    engine_of(AnySession::of_gpu(builder.finish().await.expect("command lists")), file)
}

fn options(source: &[u32], tokens: usize) -> GenerateOptions {
    let source = source.to_vec();
    // llama.cpp's text leaves out the token that ends one.
    GenerateOptions { source, max_tokens: Some(tokens), biases: vec![(1, -100.0)], ..GenerateOptions::default() }
}

async fn write(engine: &mut Engine, prompt: &[u32], options: GenerateOptions) -> Outcome {
    engine.start(prompt.to_vec(), options, 0.0).expect("a good request");
    while engine.next(|| 0.0).await.expect("a piece").is_some() {}
    engine.finish().expect("an outcome")
}

async fn check(name: &str, file: &[u8], json: &str) {
    let (forced, shown, start, sources) = expectations(json);
    let mut engine = on_gpu(file, Room::one(160)).await;
    let mut cpu = cpu_model(file, 160, CacheFormat::Rounded(KvType::F16));
    for of in &sources {
        let found = write(&mut engine, &[start], options(&of.source, of.greedy.len())).await;
        assert_eq!(found.ids, of.greedy, "{name}: a source of {} ids", of.source.len());
        assert_eq!(found.prompt_tokens, of.source.len() + 1);
        let mut all = Vec::new();
        engine.evaluate(&forced, |_, logits| all.extend_from_slice(logits)).await.expect("logits");
        let vocab = all.len() / forced.len();
        let row = |all: &[f32], count: usize| all[(count - 1) * vocab..][..vocab].to_vec();
        let rows = shown.iter().zip(&of.logits).map(|(&count, expected)| difference(&row(&all, count), expected));
        let worst = rows.fold(0.0, f32::max);
        // llama.cpp had a cache of f32. The CPU path has the same rounding of it.
        assert!(cpu.read_source(&of.source, async || (), &|| false).await.expect("a source"));
        let by_cpu = cpu.forward(&forced, 0, Logits::All).expect("logits");
        let rows = shown.iter().map(|&count| difference(&row(&all, count), &row(&by_cpu, count)));
        let from_cpu = rows.fold(0.0, f32::max);
        console_log!("{name}: a source of {} ids, {worst:.1e}, from the CPU {from_cpu:.1e}", of.source.len());
        assert!(worst < 3e-2 && from_cpu < 3e-3, "{name}: a source of {} ids is off by {worst}", of.source.len());
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn t5_f16() {
    check("t5-f16", F16, F16_SAYS).await;
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn t5_q8_0() {
    check("t5-q8_0", Q8_0, Q8_0_SAYS).await;
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn a_prompt_of_several_tokens_attends_to_the_source() {
    let (forced, .., sources) = expectations(F16_SAYS);
    let mut engine = on_gpu(F16, Room::one(160)).await;
    for (count, at, row) in [(2, 1, 1), (33, 2, 4), (130, 4, 5)] {
        let of = &sources[at];
        let wanted = GenerateOptions { logprobs: Some(1), ..options(&of.source, 1) };
        engine.start(forced[..count].to_vec(), wanted, 0.0).expect("a good request");
        let piece = engine.next(|| 0.0).await.expect("a piece").expect("a token");
        engine.finish().expect("an outcome");
        let best = |row: &[f32]| (2..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).expect("a token") as u32;
        assert_eq!(piece.ids, [best(&of.logits[row])], "after {count} tokens");
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn lanes_have_sources_of_their_own() {
    let (.., start, sources) = expectations(F16_SAYS);
    let first = on_gpu(F16, Room::one(160).for_requests(3)).await;
    let mut lanes = vec![first];
    for _ in 1..3 {
        let made = lanes[0].another(false).await.expect("a lane");
        lanes.push(made);
    }
    // The longest has no room at first, and the others keep theirs.
    for turn in [[2, 1, 3], [2, 4, 3], [0, 4, 1], [3, 2, 2]] {
        let tokens = [40, 23, 61];
        let all = lanes.iter_mut().zip(turn).zip(tokens).map(async |((engine, at), tokens)| {
            let of = &sources[at];
            let found = write(engine, &[start], options(&of.source, tokens)).await;
            assert_eq!(found.ids, of.greedy[..tokens], "source {at} among {turn:?}");
        });
        together(all).await;
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn drafts_change_nothing() {
    let (.., start, sources) = expectations(F16_SAYS);
    let mut engine = on_gpu(F16, Room::one(160).with_drafts(true)).await;
    for of in [&sources[1], &sources[4]] {
        let text = engine.tokenizer.decode(&of.greedy[..60], false);
        let wanted = GenerateOptions { prediction: text, ..options(&of.source, 60) };
        let found = write(&mut engine, &[start], wanted).await;
        assert_eq!(found.ids, of.greedy[..60]);
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn a_session_without_a_source_says_so() {
    let mut engine = on_gpu(F16, Room::one(64)).await;
    let error = engine.evaluate(&[0, 5], |_, _| ()).await.expect_err("no source");
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert!(error.message().contains("has read none"), "{error:?}");
    let refused = engine.start(vec![0], options(&[5; 65], 4), 0.0).expect_err("too long");
    assert_eq!(refused.code(), ErrorCode::ContextFull);
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn a_stopped_source_is_read_again() {
    let (.., start, sources) = expectations(F16_SAYS);
    let mut engine = on_gpu(F16, Room::one(160)).await;
    let of = &sources[3];
    engine.start(vec![start], options(&of.source, 20), 0.0).expect("a good request");
    engine.stop.set(true);
    assert!(engine.next(|| 0.0).await.expect("no error").is_none());
    engine.finish().expect("an outcome");
    assert!(engine.evaluate(&[start], |_, _| ()).await.is_err(), "there is none");
    assert_eq!(write(&mut engine, &[start], options(&of.source, 20)).await.ids, of.greedy[..20]);
    // With the same source the text goes on from what is cached.
    let longer = [&[start][..], &of.greedy[..10]].concat();
    let found = write(&mut engine, &longer, options(&of.source, 20)).await;
    assert_eq!((found.ids, found.cached_tokens), (of.greedy[10..30].to_vec(), 10));
    // A session that is made of this one reads its source itself.
    let mut other = engine.another(true).await.expect("another session");
    assert_eq!(write(&mut other, &longer, options(&of.source, 20)).await.ids, of.greedy[10..30]);
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn sessions_of_a_model_have_sources_of_their_own() {
    let (.., start, sources) = expectations(Q8_0_SAYS);
    let mut engine = on_gpu(Q8_0, Room::one(160)).await;
    let AnySession::Gpu(lane) = &engine.session else { panic!("not on the GPU") };
    let session = GpuSession::new(lane.model().clone(), 200).await.expect("room");
    let mut other = engine_of(AnySession::of_gpu(session), Q8_0);
    for (engine, of) in [(&mut engine, &sources[4]), (&mut other, &sources[3])] {
        assert_eq!(write(engine, &[start], options(&of.source, 30)).await.ids, of.greedy[..30]);
    }
    let of = &sources[4];
    assert_eq!(write(&mut engine, &[start], options(&of.source, 60)).await.ids, of.greedy[..60]);
}
