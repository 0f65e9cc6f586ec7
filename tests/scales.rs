//! Factors of whole matrices, `NAME.scale`: a model whose weights are eight times as large, with factors of an eighth,
//! computes what it did before. The numbers of powers of two are exact in every type.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/gguf_writer.rs"]
mod gguf_writer;

use gguf_writer::GgufWriter;
use webgguf::ErrorCode;
use webgguf::cpu::{CacheFormat, CpuModel, Logits};
use webgguf::gguf::{GgmlType, Gguf, HeaderReader, TensorInfo};
use webgguf::model::{Adapter, match_tensors};

const FACTOR: f32 = 8.0;

/// Matrices that have a factor in llama.cpp, by the last part of their names.
const SCALED: [&str; 12] = [
    "attn_q",
    "attn_k",
    "attn_v",
    "attn_qkv",
    "attn_output",
    "attn_gate",
    "ffn_gate",
    "ffn_up",
    "ffn_down",
    "ssm_alpha",
    "ssm_out",
    "output",
];

fn read(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/fixtures/models/{name}.gguf", env!("CARGO_MANIFEST_DIR"))).expect("a fixture")
}

fn bytes_of<'f>(file: &'f [u8], tensor: &TensorInfo) -> &'f [u8] {
    &file[tensor.offset as usize..tensor.end() as usize]
}

/// The weights times [`FACTOR`].
fn larger(tensor: &TensorInfo, bytes: &[u8]) -> Vec<u8> {
    let half = |bytes: &[u8; 2]| half::f16::from_f32(half::f16::from_le_bytes(*bytes).to_f32() * FACTOR).to_le_bytes();
    match tensor.ty {
        GgmlType::F32 => {
            let (words, _) = bytes.as_chunks::<4>();
            words.iter().flat_map(|word| (f32::from_le_bytes(*word) * FACTOR).to_le_bytes()).collect()
        }
        GgmlType::F16 => bytes.as_chunks::<2>().0.iter().flat_map(half).collect(),
        // The scale of a block is its first two bytes.
        _ => {
            let size = tensor.ty.block_bytes();
            let mut made = bytes.to_vec();
            for block in made.chunks_exact_mut(size) {
                let scale = half(&[block[0], block[1]]);
                block[..2].copy_from_slice(&scale);
            }
            made
        }
    }
}

/// The file with factors, and how many.
fn scaled(file: &[u8], gguf: &Gguf) -> (Vec<u8>, usize) {
    let mut made = GgufWriter::new();
    for key in gguf.metadata.keys() {
        made = made.pair(key, gguf.metadata.get(key).expect("a value").clone());
    }
    let mut count = 0;
    for tensor in &gguf.tensors {
        let stem = tensor.name.strip_suffix(".weight");
        let is_scaled = stem.is_some_and(|stem| SCALED.contains(&stem.rsplit('.').next().unwrap_or(stem)));
        let bytes = bytes_of(file, tensor);
        let data = if is_scaled { larger(tensor, bytes) } else { bytes.to_vec() };
        made = made.tensor(&tensor.name, tensor.ty, &tensor.dims, data);
        if let Some(stem) = stem.filter(|_| is_scaled) {
            let factor = FACTOR.recip().to_le_bytes().to_vec();
            made = made.tensor(&format!("{stem}.scale"), GgmlType::F32, &[1], factor);
            // The scale of activations, which is for other kernels.
            made = made.tensor(&format!("{stem}.input_scale"), GgmlType::F32, &[1], vec![0; 4]);
            count += 1;
        }
    }
    (made.build(), count)
}

fn header(file: &[u8]) -> Gguf {
    HeaderReader::new(Some(file.len() as u64)).push(file).expect("a good header").expect("the whole header")
}

fn logits(file: &[u8], ids: &[u32]) -> Vec<f32> {
    let gguf = header(file);
    let config = webgguf::model::config(&gguf).expect("settings");
    let mut builder = CpuModel::builder(config.clone());
    for (index, spec) in match_tensors(&config, &gguf.tensors).expect("all tensors") {
        let tensor = &gguf.tensors[index];
        builder.put(&spec, tensor.ty, bytes_of(file, tensor).to_vec()).expect("a good tensor");
    }
    let mut model = builder.build(64, CacheFormat::F32).expect("a model");
    model.forward(ids, 0, Logits::All).expect("logits")
}

#[test]
fn a_factor_multiplies_what_the_matrix_gives() {
    let ids = [5, 9, 40, 77, 120, 33, 201, 8, 64, 250];
    for name in ["bitnet-f16", "llama-f32", "phi3-f16", "qwen35-f32", "qwen3-q4_0", "llama-q8_0"] {
        let file = read(name);
        let (made, count) = scaled(&file, &header(&file));
        assert!(count > 3, "{name}: {count} factors");
        let (expected, found) = (logits(&file, &ids), logits(&made, &ids));
        let far = expected.iter().zip(&found).fold(0.0_f32, |far, (a, b)| far.max((a - b).abs()));
        assert!(far < 1e-4, "{name}: {far}");
        let config = webgguf::model::config(&header(&made)).expect("a model");
        assert!(config.notes.is_empty(), "{name}: {:?}", config.notes);
    }
}

#[test]
fn factors_that_are_not_computed_are_refused_by_name() {
    // A bias is added after the factor.
    let file = read("qwen2-q8_0");
    let (made, _) = scaled(&file, &header(&file));
    let gguf = header(&made);
    let config = webgguf::model::config(&gguf).expect("settings");
    let error = match_tensors(&config, &gguf.tensors).expect_err("a factor beside a bias");
    assert_eq!(error.code(), ErrorCode::UnsupportedArchitecture);
    assert!(error.message().contains("attn_q.scale") || error.message().contains("attn_k.scale"), "{error}");
    // What an adapter adds is not multiplied.
    let file = read("llama-f32");
    let (made, _) = scaled(&file, &header(&file));
    let adapter = std::fs::read(format!("{}/tests/fixtures/adapters/llama-f32.all.gguf", env!("CARGO_MANIFEST_DIR")));
    let config = webgguf::model::config(&header(&made)).expect("settings");
    let error = Adapter::read(&config, &adapter.expect("a fixture")).expect_err("an adapter");
    assert!(error.message().contains("a factor of its own"), "{error}");
}
