//! Models from Rust, as a program of its own would use them: on the CPU, and on a native GPU where there is a driver.
#![cfg(all(not(target_arch = "wasm32"), feature = "tensors"))]

use std::path::PathBuf;

use webgguf::{Backend, ErrorCode, FinishReason, GenerateOptions, LoadOptions, Model, SamplingOptions};

const PROMPT: &str = "Once upon a time";

fn file(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn storyteller() -> PathBuf {
    file("www/models/storyteller.gguf")
}

fn on_cpu() -> Model {
    let options = LoadOptions { backend: Backend::Cpu, ..Default::default() };
    Model::load_with(storyteller(), &options).expect("a model")
}

/// A model on the GPU; `None` where this machine has no driver.
fn on_gpu(path: PathBuf) -> Option<Model> {
    let options = LoadOptions { backend: Backend::Gpu, ..Default::default() };
    match Model::load_with(path, &options) {
        Err(error) if error.code() == ErrorCode::WebgpuUnavailable => {
            println!("skipped: {error}");
            None
        }
        model => Some(model.expect("a model")),
    }
}

fn tokens(count: usize) -> GenerateOptions {
    GenerateOptions { max_tokens: Some(count), ..Default::default() }
}

#[test]
fn a_text_comes_whole_or_piece_by_piece() {
    let mut model = on_cpu();
    let whole = model.generate(PROMPT, &tokens(24)).expect("a text");
    assert_eq!((whole.ids.len(), whole.reason), (24, FinishReason::Length));
    assert_eq!((whole.prompt_tokens, whole.cached_tokens), (model.tokenize(PROMPT).len(), 0));
    let mut pieces = model.stream(PROMPT, &tokens(24)).expect("a good prompt");
    let text: String = pieces.by_ref().map(|piece| piece.expect("a piece").text).collect();
    let outcome = pieces.finish().expect("a text");
    assert_eq!((&text, &outcome.text, &outcome.ids), (&whole.text, &whole.text, &whole.ids));
    assert_eq!(outcome.cached_tokens, outcome.prompt_tokens - 1, "the prompt is in the cache");
    model.reset();
    assert_eq!(model.generate(PROMPT, &tokens(1)).expect("a text").cached_tokens, 0);
}

#[test]
fn a_text_that_nobody_reads_to_its_end_is_over() {
    let mut model = on_cpu();
    let whole = model.generate(PROMPT, &tokens(8)).expect("a text");
    let mut pieces = model.stream(PROMPT, &tokens(200)).expect("a good prompt");
    assert!(pieces.next().is_some_and(|piece| piece.is_ok()));
    drop(pieces);
    assert_eq!(model.generate(PROMPT, &tokens(8)).expect("a text").ids, whole.ids);
}

#[test]
fn options_reach_the_sampler() {
    let mut model = on_cpu();
    let seeded = |seed| GenerateOptions {
        sampling: SamplingOptions { temperature: 1.0, seed, ..Default::default() },
        ..tokens(16)
    };
    let [a, again, b] = [1, 1, 2].map(|seed| model.generate(PROMPT, &seeded(seed)).expect("a text").ids);
    assert_eq!(a, again);
    assert_ne!(a, b);
    let stop = GenerateOptions { stop: vec![" ".into()], ..tokens(50) };
    let stopped = model.generate(PROMPT, &stop).expect("a text");
    assert_eq!((stopped.reason, stopped.text.contains(' ')), (FinishReason::Stop, false));
    let wrong = SamplingOptions { top_p: 2.0, ..Default::default() };
    let refused = model.generate(PROMPT, &GenerateOptions { sampling: wrong, ..tokens(1) });
    assert_eq!(refused.map(drop).map_err(|error| error.code()), Err(ErrorCode::InvalidArgument));
}

#[test]
fn what_cannot_be_loaded_is_named() {
    let load = |path: &str, options: &LoadOptions| {
        Model::load_with(file(path), options).map(drop).expect_err("not a model to load")
    };
    let cpu = LoadOptions { backend: Backend::Cpu, ..Default::default() };
    let missing = load("nowhere/model.gguf", &cpu);
    assert_eq!(missing.code(), ErrorCode::DownloadFailed);
    assert!(missing.message().contains("nowhere"), "{missing}");
    let foreign = load("Cargo.toml", &cpu);
    assert_eq!(foreign.code(), ErrorCode::BadFile);
    assert!(foreign.message().contains("Cargo.toml"), "{foreign}");
    let long = LoadOptions { context_length: Some(1 << 30), ..cpu };
    let error = load("www/models/storyteller.gguf", &long);
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert!(error.message().contains("1073741824"), "{error}");
}

#[test]
fn a_model_does_what_it_is_for() {
    let mut model = on_cpu();
    let error = model.embed(&["a text"]).expect_err("it writes text");
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert_eq!(model.rank("a query", &["a document"]).map_err(|error| error.code()), Err(ErrorCode::InvalidArgument));
    let info = model.info();
    assert_eq!((info.architecture, info.device, info.backend_reason), ("llama", None, None));
}

#[test]
fn the_gpu_writes_what_the_cpu_does() {
    let Some(mut gpu) = on_gpu(storyteller()) else { return };
    assert!(gpu.info().device.is_some_and(|device| !device.name.is_empty()));
    let expected = on_cpu().generate(PROMPT, &tokens(32)).expect("a text");
    assert_eq!(gpu.generate(PROMPT, &tokens(32)).expect("a text").ids, expected.ids);
    let longer = format!("{PROMPT}{}", expected.text);
    assert!(gpu.generate(&longer, &tokens(4)).expect("a text").cached_tokens > 8, "it goes on from its cache");
}

#[test]
fn an_adapter_in_software_is_not_chosen() {
    let Some(gpu) = on_gpu(storyteller()) else { return };
    if !gpu.info().device.is_some_and(|device| device.software) {
        return;
    }
    let info = Model::load(storyteller()).expect("a model").info();
    assert_eq!(info.device, None);
    assert!(info.backend_reason.is_some_and(|reason| reason.contains("software")));
}

#[test]
fn vectors_of_the_gpu_are_those_of_the_cpu() {
    let path = "tests/fixtures/embedders/bert-f16.gguf";
    let texts = ["a hare", "clover in the field"];
    let options = LoadOptions { backend: Backend::Cpu, ..Default::default() };
    let mut cpu = Model::load_with(file(path), &options).expect("a model");
    let expected = cpu.embed(&texts).expect("vectors");
    assert_eq!(expected.len(), texts.len());
    assert!(expected.iter().all(|row| (row.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-4));
    assert_eq!(
        cpu.generate(PROMPT, &tokens(1)).map(drop).map_err(|error| error.code()),
        Err(ErrorCode::InvalidArgument)
    );
    let Some(mut gpu) = on_gpu(file(path)) else { return };
    for (found, expected) in gpu.embed(&texts).expect("vectors").iter().zip(&expected) {
        let cosine: f32 = found.iter().zip(expected).map(|(a, b)| a * b).sum();
        assert!(cosine > 0.999, "{cosine}");
    }
}
