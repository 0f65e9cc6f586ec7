//! Inputs of an embedder that hold rows beside tokens, on the CPU: rows that are the embeddings of tokens say what the
//! tokens say, and rows that nobody holds are refused.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/embeddings.rs"]
mod embeddings;
#[path = "common/in_memory.rs"]
#[allow(dead_code, reason = "each test uses its part")]
mod in_memory;
#[path = "common/yielding.rs"]
#[allow(dead_code, reason = "each test uses its part")]
mod yielding;

use embeddings::embeddings;
use in_memory::{cpu_model, header};
use webgguf::ErrorCode;
use webgguf::cpu::CacheFormat;
use webgguf::gguf::Gguf;
use webgguf::model::InputSource;
use webgguf::runtime::{AnyEmbedder, CpuEmbedder, EmbedEngine, EmbedOptions};
use webgguf::tokenizer::Tokenizer;

struct Model {
    file: Vec<u8>,
    gguf: Gguf,
}

impl Model {
    fn open(name: &str) -> Self {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/embedders/");
        let file = std::fs::read(format!("{folder}{name}.gguf")).expect("a file");
        let gguf = header(&file);
        Self { file, gguf }
    }

    fn engine(&self) -> EmbedEngine {
        let model = cpu_model(&self.file, 128, CacheFormat::F32);
        let tokenizer = Tokenizer::from_metadata(&self.gguf.metadata).expect("a vocabulary");
        EmbedEngine::new(AnyEmbedder::Cpu(Box::new(CpuEmbedder::new(model))), tokenizer)
    }
}

fn embed(engine: &mut EmbedEngine, inputs: &[&[u32]]) -> webgguf::Result<Vec<f32>> {
    let options = EmbedOptions { normalize: true, dimensions: None };
    let (found, _) = yielding::count_yields(engine.embed(inputs, &options));
    Ok(found?.expect("nobody stops it"))
}

/// Holds the embeddings of `ids` as rows; returns the ids of the rows.
fn hold(engine: &mut EmbedEngine, model: &Model, ids: &[u32], digest: u64) -> Vec<u32> {
    let source = InputSource { digest, count: ids.len() as u32, columns: 0, canvas: 0 };
    engine.hold_rows(source, &embeddings(&model.file, &model.gguf, ids)).expect("rows of the right width");
    engine.embedder.row_ids().know(source).expect("known").collect()
}

#[test]
fn rows_say_what_their_tokens_say() {
    let model = Model::open("gemma-embedding2-f16");
    let mut engine = model.engine();
    let text: Vec<u32> = (0..60).map(|i| 260 + i * 7 % 60).collect();
    let expected = embed(&mut engine, &[&text, &text[..9]]).expect("vectors");
    let rows = hold(&mut engine, &model, &text[10..47], 1);
    let mixed = [&text[..10], &rows, &text[47..]].concat();
    let found = embed(&mut engine, &[&mixed, &text[..9]]).expect("vectors");
    let apart = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(apart < 1e-6, "off by {apart}");
    // They are held for one call.
    let error = embed(&mut engine, &[&mixed]).expect_err("nobody holds the rows");
    assert!(error.message().contains("is not held"), "{}", error.message());
    assert_eq!(hold(&mut engine, &model, &text[10..47], 1), rows, "the same rows have the same ids");
    let again = embed(&mut engine, &[&mixed]).expect("vectors");
    assert_eq!(again, found[..again.len()]);
    // A model that was loaded again goes on with these ids.
    let fresh = model.engine().embedder;
    engine.recover(fresh).expect("the same model");
    hold(&mut engine, &model, &text[..3], 2);
    assert_eq!(hold(&mut engine, &model, &text[10..47], 1), rows);
    assert_eq!(embed(&mut engine, &[&mixed]).expect("vectors"), again);
}

#[test]
fn what_does_not_fit_is_refused() {
    let model = Model::open("gemma-embedding2-f16");
    let mut engine = model.engine();
    let source = InputSource { digest: 1, count: 2, columns: 0, canvas: 0 };
    assert_eq!(engine.row_width().expect("a width"), 44);
    let error = engine.hold_rows(source, &[0.0; 87]).expect_err("one value too few");
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert!(error.message().contains("expected 88 values, found 87"), "{}", error.message());
    let error = embed(&mut engine, &[&[5, 1 << 31]]).expect_err("an unknown row");
    assert!(error.message().contains("is not in the vocabulary"), "{}", error.message());
    let mut bert = Model::open("bert-f16").engine();
    for error in [bert.row_width().expect_err("texts alone"), bert.hold_rows(source, &[]).expect_err("texts alone")] {
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
        assert!(error.message().contains("architecture bert embed texts alone"), "{}", error.message());
    }
}
