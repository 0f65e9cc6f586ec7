//! Embedders and rerankers on the CPU against llama.cpp, on the small random models of `tests/fixtures/embedders`,
//! which says what it gives for their F32 twins.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/cpu.rs"]
mod cpu;
#[allow(dead_code)]
#[path = "common/yielding.rs"]
mod yielding;

use serde_json::Value;
use webgguf::cpu::{CacheFormat, CpuModel, Input};
use webgguf::model::EncoderInput;

/// ‖a − b‖ / ‖b‖.
fn relative(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len());
    let norm = |values: &mut dyn Iterator<Item = f32>| values.map(|x| x * x).sum::<f32>().sqrt();
    norm(&mut found.iter().zip(expected).map(|(a, b)| a - b)) / norm(&mut expected.iter().copied())
}

fn embed(model: &mut CpuModel, ids: &[u32]) -> Vec<f32> {
    let (found, _) = yielding::count_yields(model.embed(Input::Ids(ids), async || (), &|| false));
    found.expect("an embedding").expect("nobody stops it")
}

fn check(name: &str) {
    let folder = cpu::fixtures().with_file_name("embedders");
    let json = std::fs::read(folder.join(format!("{name}.json"))).expect("expectations");
    let json: Value = serde_json::from_slice(&json).expect("JSON");
    let inputs: Vec<Vec<u32>> = serde_json::from_value(json["inputs"].clone()).expect("ids");
    let pooled: Vec<Vec<f32>> = serde_json::from_value(json["pooled"].clone()).expect("numbers");
    let mut model = cpu::load(&[folder.join(format!("{name}.gguf"))], CacheFormat::F32);
    for (ids, expected) in inputs.iter().zip(&pooled) {
        let mut found = embed(&mut model, ids);
        if name.contains("qwen3-rerank") {
            webgguf::kernels::reference::softmax(&mut found);
        }
        let error = relative(&found, expected);
        println!("{name}: {} ids, {error:.1e}", ids.len());
        assert!(error < 1e-4, "{name}: the embedding of {} ids is off by {error}", ids.len());
    }
}

/// One test per model, so that a failure names it.
macro_rules! models {
    ($($test:ident: $name:literal,)*) => {
        $(#[test]
        fn $test() {
            check($name);
        })*

        const MODELS: &[&str] = &[$($name),*];
    };
}

models! {
    t5encoder_f16: "t5encoder-f16",
    t5encoder_q8_0: "t5encoder-q8_0",
    bert_f16: "bert-f16",
    bert_q8_0: "bert-q8_0",
    bert_rank_f32: "bert-rank-f32",
    nomic_bert_f16: "nomic-bert-f16",
    nomic_bert_moe_f16: "nomic-bert-moe-f16",
    jina_bert_v2_f16: "jina-bert-v2-f16",
    jina_bert_v2_rank_f16: "jina-bert-v2-rank-f16",
    jina_bert_v3_f16: "jina-bert-v3-f16",
    eurobert_f16: "eurobert-f16",
    llama_embed_f16: "llama-embed-f16",
    neo_bert_f16: "neo-bert-f16",
    modern_bert_q5_0: "modern-bert-q5_0",
    modern_bert_rank_f16: "modern-bert-rank-f16",
    gemma_embedding_f16: "gemma-embedding-f16",
    gemma_embedding_q8_0: "gemma-embedding-q8_0",
    gemma_embedding2_f16: "gemma-embedding2-f16",
    gemma_embedding2_q8_0: "gemma-embedding2-q8_0",
    qwen3_embedding_q4_0: "qwen3-embedding-q4_0",
    qwen3_rerank_q8_0: "qwen3-rerank-q8_0",
}

#[test]
fn every_model_has_a_test() {
    let folder = cpu::fixtures().with_file_name("embedders");
    for file in std::fs::read_dir(folder).expect("fixtures") {
        let path = file.expect("a file").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
        assert!(MODELS.contains(&name) || name == "README", "no test for {name}");
    }
}

/// A row of a real one takes milliseconds: a page must not wait for all of them.
#[test]
fn the_projection_of_an_encoder_yields_after_each_row() {
    let mut model = cpu::load(&[cpu::fixtures().with_file_name("encoders").join("gemma3.gguf")], CacheFormat::F32);
    let layers = model.program().layers.len();
    let [fewer, more] = [19, 20].map(|rows| {
        let input = EncoderInput::sample(model.program(), rows);
        let work = model.embed(Input::Image(&input), async || yielding::yield_now().await, &|| false);
        let (found, yields) = yielding::count_yields(work);
        assert!(found.expect("rows").is_some());
        yields
    });
    assert_eq!(more - fewer, layers + 1, "after each row of attention and of the projection");
}
