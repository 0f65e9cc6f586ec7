//! Models whose decoder attends to a source (T5), on the CPU against llama.cpp: see tests/fixtures/sources.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/cpu.rs"]
mod cpu;
#[path = "common/log_probabilities.rs"]
mod log_probabilities;
#[allow(dead_code)]
#[path = "common/yielding.rs"]
mod yielding;

use std::cell::Cell;
use std::path::PathBuf;

use log_probabilities::difference;
use serde_json::Value as Json;
use webgguf::ErrorCode;
use webgguf::cpu::{CacheFormat, CpuModel, Logits};
use webgguf::gguf::{HeaderReader, Value};
use webgguf::runtime::{CpuSession, Engine, GenerateOptions, Outcome};
use webgguf::tokenizer::Tokenizer;

fn file(name: &str) -> PathBuf {
    cpu::fixtures().with_file_name("sources").join(name)
}

fn expected(name: &str) -> Json {
    let json = std::fs::read(file(&format!("{name}.json"))).expect("expectations");
    serde_json::from_slice(&json).expect("JSON")
}

fn ids(json: &Json) -> Vec<u32> {
    serde_json::from_value(json.clone()).expect("ids")
}

fn read(model: &mut CpuModel, source: &[u32]) {
    let (read, _) = yielding::count_yields(model.read_source(source, async || (), &|| false));
    assert!(read.expect("a source"), "nobody stops it");
}

fn check(name: &str) {
    let json = expected(name);
    let (forced, shown) = (ids(&json["forced"]), ids(&json["shown"]));
    let start = json["start"].as_u64().expect("a start token") as u32;
    let mut model = cpu::load(&[file(&format!("{name}.gguf"))], CacheFormat::F32);
    for of in json["sources"].as_array().expect("sources") {
        let (source, greedy) = (ids(&of["source"]), ids(&of["greedy"]));
        read(&mut model, &source);
        let logits = model.forward(&forced, 0, Logits::All).expect("logits");
        let rows: Vec<&[f32]> = logits.chunks_exact(model.config().vocab).collect();
        let wanted: Vec<Vec<f32>> = serde_json::from_value(of["logits"].clone()).expect("logits");
        let worst = shown.iter().zip(&wanted).map(|(&count, row)| difference(rows[count as usize - 1], row));
        let worst = worst.fold(0.0, f32::max);
        println!("{name}: a source of {} ids, {worst:.1e}", source.len());
        assert!(worst < 1e-3, "{name}: a source of {} ids is off by {worst}", source.len());
        let mut token = start;
        for (at, &next) in greedy.iter().enumerate() {
            let mut row = model.forward(&[token], at, Logits::Last).expect("logits");
            row[1] = f32::MIN;
            token = (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).expect("a token") as u32;
            assert_eq!(token, next, "{name}: token {at} of a source of {} ids", source.len());
        }
    }
}

#[test]
fn t5_f16() {
    check("t5-f16");
}

#[test]
fn t5_q8_0() {
    check("t5-q8_0");
}

fn engine(name: &str) -> Engine<CpuSession> {
    let path = file(&format!("{name}.gguf"));
    let bytes = std::fs::read(&path).expect("a fixture");
    let gguf = HeaderReader::new(None).push(&bytes).expect("a header").expect("a whole header");
    let tokenizer = Tokenizer::from_metadata(&gguf.metadata).expect("a tokenizer");
    Engine::new(CpuSession::new(cpu::load(&[path], CacheFormat::F32)), tokenizer)
}

fn options(source: &[u32], tokens: usize) -> GenerateOptions {
    let source = source.to_vec();
    // llama.cpp's text leaves out the token that ends one.
    GenerateOptions { source, max_tokens: Some(tokens), biases: vec![(1, -100.0)], ..GenerateOptions::default() }
}

fn write(engine: &mut Engine<CpuSession>, prompt: &[u32], options: GenerateOptions) -> Outcome {
    engine.start(prompt.to_vec(), options, 0.0).expect("a good request");
    while pollster::block_on(engine.next(|| 0.0)).expect("a piece").is_some() {}
    engine.finish().expect("an outcome")
}

#[test]
fn a_run_reads_its_source_and_another_source_begins_anew() {
    let json = expected("t5-f16");
    let sources = json["sources"].as_array().expect("sources");
    let mut engine = engine("t5-f16");
    for of in [&sources[2], &sources[1], &sources[1], &sources[3]] {
        let (source, greedy) = (ids(&of["source"]), ids(&of["greedy"]));
        let found = write(&mut engine, &[0], options(&source, 40));
        assert_eq!(found.ids, greedy[..40]);
        assert_eq!(found.prompt_tokens, source.len() + 1);
    }
}

#[test]
fn a_source_is_wanted_where_there_is_an_encoder() {
    let mut of_source = engine("t5-f16");
    let refused = |engine: &mut Engine<CpuSession>, options| engine.start(vec![0], options, 0.0).expect_err("refused");
    assert_eq!(refused(&mut of_source, options(&[], 4)).code(), ErrorCode::InvalidArgument);
    assert_eq!(refused(&mut of_source, options(&[999], 4)).code(), ErrorCode::InvalidArgument);
    assert_eq!(refused(&mut of_source, options(&[5; 600], 4)).code(), ErrorCode::ContextFull);
    assert_eq!(write(&mut of_source, &[0], options(&[5; 7], 4)).ids.len(), 4);
    let mut model = cpu::load(&[file("t5-f16.gguf")], CacheFormat::F32);
    let error = model.forward(&[0], 0, Logits::Last).expect_err("no source");
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
}

#[test]
fn a_stopped_source_is_none() {
    let mut model = cpu::load(&[file("t5-f16.gguf")], CacheFormat::F32);
    let stop = Cell::new(true);
    let (read, _) = yielding::count_yields(model.read_source(&[5; 9], async || (), &|| stop.get()));
    assert!(!read.expect("no error"));
    assert!(model.forward(&[0], 0, Logits::Last).is_err());
}

#[test]
fn texts_of_sources_are_tokenized_as_llama_cpp_does() {
    for name in ["t5-f16", "t5-q8_0"] {
        let engine = engine(name);
        for pair in expected(name)["texts"].as_array().expect("texts") {
            let text = pair[0].as_str().expect("a text");
            assert_eq!(engine.tokenizer.encode(text, true, true), ids(&pair[1]), "{text}");
        }
    }
}

#[test]
fn a_file_without_buckets_is_refused() {
    let bytes = std::fs::read(file("t5-f16.gguf")).expect("a fixture");
    let mut gguf = HeaderReader::new(None).push(&bytes).expect("a header").expect("a whole header");
    for (count, says) in [(3, "expected 4 to 128, found 3"), (129, "expected 1 to 128, found 129")] {
        gguf.metadata.insert("t5.attention.relative_buckets_count", Value::U32(count));
        let error = webgguf::model::config(&gguf).expect_err("a bad file");
        assert_eq!((error.code(), error.message().contains(says)), (ErrorCode::BadFile, true), "{error:?}");
    }
}
