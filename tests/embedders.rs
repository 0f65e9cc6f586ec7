//! Embedders and rerankers on a WebGPU device, several inputs in one batch, against llama.cpp: see
//! `tests/embedders_cpu.rs`.
#![cfg(all(feature = "harness", any(target_arch = "wasm32", feature = "gpu-tests")))]

#[path = "common/console.rs"]
mod console;
#[path = "common/device.rs"]
mod device;
#[path = "common/embeddings.rs"]
mod embeddings;

use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use webgguf::gguf::{Gguf, HeaderReader};
use webgguf::kernels::reference::softmax;
use webgguf::model::{InputSource, match_tensors};
use webgguf::runtime::{GpuEmbedder, GpuModelBuilder, GpuRun};

use console::console_log;
use device::device;
use embeddings::embeddings;

wasm_bindgen_test_configure!(run_in_browser);

fn header(file: &[u8]) -> Gguf {
    let mut reader = HeaderReader::new(Some(file.len() as u64));
    reader.push(file).expect("a good header").expect("a whole header")
}

/// The model of `file` on the GPU.
async fn on_gpu(file: &[u8]) -> GpuEmbedder {
    let device = device().await;
    let caps = device.caps.clone();
    let gguf = header(file);
    let config = webgguf::model::config(&gguf).expect("a known model");
    let context = config.context_length.min(160);
    let matched = match_tensors(&config, &gguf.tensors).expect("all tensors");
    let mut builder = GpuModelBuilder::new(device, caps, config, context, &gguf.tensors, matched).expect("room");
    for (index, tensor) in gguf.tensors.iter().enumerate() {
        for slice in builder.slices(index) {
            let at = (tensor.offset + slice.offset) as usize;
            builder.put(index, &slice, &file[at..at + slice.bytes as usize]).expect("a good slice");
        }
    }
    match builder.finish_any().await.expect("command lists") {
        GpuRun::Embedder(embedder) => *embedder,
        GpuRun::Session(_) => panic!("the model writes text"),
    }
}

/// ‖a − b‖ / ‖b‖.
fn relative(found: &[f32], expected: &[f32]) -> f32 {
    let norm = |values: &mut dyn Iterator<Item = f32>| values.map(|x| x * x).sum::<f32>().sqrt();
    norm(&mut found.iter().zip(expected).map(|(a, b)| a - b)) / norm(&mut expected.iter().copied())
}

async fn check(name: &str, file: &[u8], json: &str) {
    let json: serde_json::Value = serde_json::from_str(json).expect("JSON");
    let inputs: Vec<Vec<u32>> = serde_json::from_value(json["inputs"].clone()).expect("ids");
    let expected: Vec<Vec<f32>> = serde_json::from_value(json["pooled"].clone()).expect("numbers");
    let mut embedder = on_gpu(file).await;
    // One model gets more rows than a batch has, so that there are several batches.
    let times = if name == "bert-f16" { 9 } else { 1 };
    let all: Vec<&[u32]> = (0..times).flat_map(|_| inputs.iter().map(Vec::as_slice)).collect();
    let found = embedder.embed(&all, &Default::default()).await.expect("results").expect("nobody stops it");
    let width = expected[0].len();
    assert_eq!(found.len(), all.len() * width, "{name}");
    let mut worst = 0f32;
    for (at, row) in found.chunks_exact(width).enumerate() {
        let mut row = row.to_vec();
        if name.contains("qwen3-rerank") {
            softmax(&mut row);
        }
        worst = worst.max(relative(&row, &expected[at % inputs.len()]));
    }
    console_log!("{name}: relative error at most {worst:.1e}");
    assert!(worst < 2e-4, "{name}: off by {worst}");
}

macro_rules! models {
    ($($test:ident: $name:literal,)*) => {
        $(#[wasm_bindgen_test(unsupported = pollster::test)]
        async fn $test() {
            let file = include_bytes!(concat!("fixtures/embedders/", $name, ".gguf"));
            check($name, file, include_str!(concat!("fixtures/embedders/", $name, ".json"))).await;
        })*
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

/// Rows that are the embeddings of tokens say what the tokens say, wherever they stand in a batch.
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn rows_stand_among_tokens() {
    let file = include_bytes!("fixtures/embedders/gemma-embedding2-q8_0.gguf");
    let json = include_str!("fixtures/embedders/gemma-embedding2-q8_0.json");
    let json: serde_json::Value = serde_json::from_str(json).expect("JSON");
    let inputs: Vec<Vec<u32>> = serde_json::from_value(json["inputs"].clone()).expect("ids");
    let expected: Vec<Vec<f32>> = serde_json::from_value(json["pooled"].clone()).expect("numbers");
    let mut embedder = on_gpu(file).await;
    let gguf = header(file);
    let mut held = Vec::new();
    let mut with_rows = |ids: &[u32], from: usize, count: usize| {
        let rows = embeddings(file, &gguf, &ids[from..from + count]);
        let source = InputSource { digest: held.len() as u64, count: count as u32, columns: 0, canvas: 0 };
        held.push(embedder.model().add_rows(source, &rows).expect("rows"));
        let ids_of_rows = held.last().map(|held| held.ids.clone()).into_iter().flatten();
        [&ids[..from], &ids_of_rows.collect::<Vec<_>>(), &ids[from + count..]].concat()
    };
    // One without rows, one of rows alone, one with rows in two places.
    let whole = with_rows(&inputs[2], 0, inputs[2].len());
    let first = with_rows(&inputs[5], 3, 70);
    let both = with_rows(&first, 140, 9);
    let all = [&inputs[1], &whole, &both, &inputs[4]].map(Vec::as_slice);
    let found = embedder.embed(&all, &Default::default()).await.expect("results").expect("nobody stops it");
    let width = expected[0].len();
    for (row, at) in found.chunks_exact(width).zip([1, 2, 5, 4]) {
        let error = relative(row, &expected[at]);
        assert!(error < 2e-4, "input {at}: off by {error}");
    }
    drop(held);
    let error = embedder.embed(&all, &Default::default()).await.expect_err("nobody holds the rows");
    assert!(error.message().contains("is not held"), "{}", error.message());
}
