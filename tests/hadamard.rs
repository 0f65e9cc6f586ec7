//! `prism.hadamard.*`: a model whose matrices are rotated as the keys say computes what it did before. The matrices are
//! rotated here by the formula of each entry.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/gguf_writer.rs"]
mod gguf_writer;

use std::rc::Rc;

use gguf_writer::GgufWriter;
use webgguf::cpu::{ActiveAdapter, CacheFormat, CpuModel, Logits};
use webgguf::gguf::{Array, GgmlType, Gguf, HeaderReader, TensorInfo, Value, dequantize};
use webgguf::model::{Adapter, match_tensors};
use webgguf::{Error, ErrorCode};

/// Matrices that can be rotated, by the last part of their names.
const ROTATED: &str = "attn_q attn_k attn_v attn_qkv attn_gate attn_output ffn_gate ffn_up ffn_down ffn_gate_exps \
    ffn_up_exps ffn_down_exps ffn_gate_shexp ffn_up_shexp ffn_down_shexp ssm_out output";

/// How a file is rotated.
#[derive(Debug, Clone, Copy)]
struct Way {
    block: usize,
    signed: bool,
    /// The embedding table, too, and with it a tied head.
    table: bool,
    /// Repeats, heads and values of what `ssm_out` multiplies.
    regrouped: Option<[usize; 3]>,
    /// Only matrices whose names do not end so.
    but: &'static str,
}

const WAY: Way = Way { block: 32, signed: true, table: false, regrouped: None, but: "-" };

fn read(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/fixtures/{name}.gguf", env!("CARGO_MANIFEST_DIR"))).expect("a fixture")
}

fn header(file: &[u8]) -> Gguf {
    HeaderReader::new(Some(file.len() as u64)).push(file).expect("a good header").expect("the whole header")
}

fn values(file: &[u8], tensor: &TensorInfo) -> Vec<f32> {
    let mut values = vec![0.0; tensor.elements() as usize];
    dequantize(tensor.ty, &file[tensor.offset as usize..tensor.end() as usize], &mut values).expect("whole blocks");
    values
}

fn sign(width: usize, col: usize) -> i32 {
    if (col * col + 3 * col + width) % 7 < 3 { -1 } else { 1 }
}

/// A row times the signs, then times H.
fn rotate(way: Way, row: &[f32]) -> Vec<f32> {
    let sign = |col: usize| if way.signed { sign(row.len(), col) as f32 } else { 1.0 };
    let entry = |r: usize, c: usize| if (r & c).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
    let of = |at: usize| {
        let first = at / way.block * way.block;
        let sum: f32 = (0..way.block).map(|c| entry(at % way.block, c) * sign(first + c) * row[first + c]).sum();
        sum / (way.block as f32).sqrt()
    };
    (0..row.len()).map(of).collect()
}

fn f32_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The file with all tensors as F32, and with its matrices rotated where there is a way.
fn made(file: &[u8], way: Option<Way>) -> GgufWriter {
    let gguf = header(file);
    let mut made = GgufWriter::new();
    for key in gguf.metadata.keys() {
        made = made.pair(key, gguf.metadata.get(key).expect("a value").clone());
    }
    let (mut names, mut widths) = (Vec::new(), Vec::new());
    for tensor in &gguf.tensors {
        let mut data = values(file, tensor);
        let width = tensor.dims[0] as usize;
        let stem = tensor.name.strip_suffix(".weight").unwrap_or_default();
        let last = stem.rsplit('.').next().unwrap_or_default();
        if let Some(way) = way {
            let is_table = way.table && last == "token_embd";
            let is_matrix = ROTATED.split_whitespace().any(|name| name == last) && !stem.ends_with(way.but);
            if is_table || is_matrix {
                for row in data.chunks_exact_mut(width) {
                    let mut before = row.to_vec();
                    if let Some([repeats, heads, values]) = way.regrouped.filter(|_| last == "ssm_out") {
                        for (r, h, v) in triples([repeats, heads, values]) {
                            before[(h * repeats + r) * values + v] = row[(r * heads + h) * values + v];
                        }
                    }
                    row.copy_from_slice(&rotate(way, &before));
                }
                widths.push(width);
            }
            if is_matrix {
                names.push(tensor.name.clone());
            }
        }
        made = made.tensor(&tensor.name, GgmlType::F32, &tensor.dims, f32_bytes(&data));
    }
    let Some(way) = way else { return made };
    widths.sort_unstable();
    widths.dedup();
    keys(made, way, &names, &widths, gguf.tensors.iter().any(|tensor| tensor.name == "output.weight"))
}

fn triples([a, b, c]: [usize; 3]) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..a * b * c).map(move |i| (i / (b * c), i / c % b, i % c))
}

fn keys(made: GgufWriter, way: Way, names: &[String], widths: &[usize], has_head: bool) -> GgufWriter {
    let is_tied = way.table && !has_head;
    let text = |text: &str| Value::String(text.into());
    let strings = |names: &[String]| Value::Array(Array::Strings(names.iter().collect()));
    let mut made = made
        .pair("prism.hadamard.version", Value::U32(if is_tied { 2 } else { 1 }))
        .pair("prism.hadamard.block_size", Value::U32(way.block as u32))
        .pair("prism.hadamard.transform", text("normalized-sylvester-walsh-hadamard"))
        .pair("prism.hadamard.axis", text("input-last-dimension"))
        .pair("prism.hadamard.sign_mode", text(if way.signed { "explicit" } else { "identity" }))
        .pair("prism.hadamard.weight_names", strings(names))
        .pair("prism.hadamard.gdn_v_grouped", Value::Bool(way.regrouped.is_some()));
    if way.signed {
        let signs = widths.iter().flat_map(|&width| (0..width).map(move |col| sign(width, col) as i8)).collect();
        made = made
            .pair("prism.hadamard.sign_widths", Value::Array(Array::I32(widths.iter().map(|&w| w as i32).collect())))
            .pair("prism.hadamard.sign_values", Value::Array(Array::I8(signs)));
    }
    if way.table {
        made = made.pair("prism.hadamard.inverse_weight_names", strings(&["token_embd.weight".to_owned()]));
    }
    if is_tied {
        made = made.pair("prism.hadamard.tied_output", Value::Bool(true));
    }
    made
}

fn logits(file: &[u8], adapter: Option<&str>) -> Result<Vec<f32>, Error> {
    let gguf = header(file);
    let config = webgguf::model::config(&gguf)?;
    assert!(config.notes.is_empty(), "{:?}", config.notes);
    let mut builder = CpuModel::builder(config.clone());
    for (index, spec) in match_tensors(&config, &gguf.tensors)? {
        let tensor = &gguf.tensors[index];
        builder.put(&spec, tensor.ty, file[tensor.offset as usize..tensor.end() as usize].to_vec())?;
    }
    let mut model = builder.build(64, CacheFormat::F32)?;
    if let Some(adapter) = adapter {
        let adapter = Rc::new(Adapter::read(&config, &read(adapter))?);
        model.set_adapters(vec![ActiveAdapter { adapter, scale: 0.8, from: 0 }]);
    }
    model.forward(&[5, 9, 40, 77, 120, 33, 201, 8, 64, 250], 0, Logits::All)
}

#[test]
fn rotated_matrices_compute_what_they_did_before() {
    let cases = [
        ("llama-f32", Way { block: 4, but: "ffn_up", ..WAY }),
        ("llama-f32", Way { block: 4, table: true, signed: false, ..WAY }),
        ("llama-f32", Way { block: 1, table: true, ..WAY }),
        ("qwen35-f32", Way { block: 4, table: true, ..WAY }),
        ("qwen35-f32", Way { block: 4, regrouped: Some([2, 2, 12]), ..WAY }),
        ("mixtral-f32", Way { block: 4, ..WAY }),
        ("qwen35moe-f32", Way { block: 4, table: true, regrouped: Some([2, 2, 8]), ..WAY }),
        ("qwen3moe-q8_0", Way { table: true, ..WAY }),
        ("qwen3next-q8_0", Way { regrouped: Some([3, 2, 16]), ..WAY }),
        ("phi3-f16", Way { block: 8, ..WAY }),
    ];
    for (name, way) in cases {
        let file = read(&format!("models/{name}"));
        let expected = logits(&made(&file, None).build(), None).expect("logits");
        let found = logits(&made(&file, Some(way)).build(), None);
        let found = found.unwrap_or_else(|error| panic!("{name} {way:?}: {error}"));
        let far = expected.iter().zip(&found).fold(0.0_f32, |far, (a, b)| far.max((a - b).abs()));
        assert!(far < 2e-4, "{name} {way:?}: {far}");
    }
}

#[test]
fn adapters_add_to_what_was_not_rotated() {
    let file = read("models/llama-f32");
    let way = Way { block: 4, but: "ffn_gate", ..WAY };
    let adapter = Some("adapters/llama-f32.all");
    let plain = logits(&made(&file, None).build(), None).expect("logits");
    let expected = logits(&made(&file, None).build(), adapter).expect("logits");
    let found = logits(&made(&file, Some(way)).build(), adapter).expect("logits");
    let far = |of: &[f32]| expected.iter().zip(of).fold(0.0_f32, |far, (a, b)| far.max((a - b).abs()));
    assert!(far(&found) < 2e-4 && far(&plain) > 0.1, "{} and {}", far(&found), far(&plain));
    // A rotated table has no rows that an adapter could add to.
    let rotated = made(&file, Some(Way { block: 4, table: true, ..WAY })).build();
    let config = webgguf::model::config(&header(&rotated)).expect("settings");
    let read = Adapter::read(&config, &read("adapters/llama-f32.all"));
    assert!(read.is_ok() || read.is_err_and(|error| error.message().contains("rotated")));
}

#[test]
fn keys_that_contradict_each_other_are_refused_by_name() {
    let file = read("models/llama-f32");
    let good = made(&file, Some(Way { block: 4, ..WAY }));
    let strings = |names: &[&str]| Value::Array(Array::Strings(names.iter().collect()));
    let text = |text: &str| Value::String(text.into());
    let numbers = |numbers: &[i32]| Value::Array(Array::I32(numbers.into()));
    let (bad, unknown) = (ErrorCode::BadFile, ErrorCode::UnsupportedArchitecture);
    let cases = [
        ("version", Value::U32(3), unknown, "expected 1 or 2, found 3"),
        ("version", Value::U32(2), bad, "tied_output`: expected true in version 2, found false"),
        ("block_size", Value::U32(6), bad, "expected a power of 2, found 6"),
        ("block_size", Value::U32(0), bad, "expected 1 to 4096, found 0"),
        ("block_size", Value::U32(64), bad, "sign_widths`: expected each multiple of 64 once, found 100"),
        ("transform", text("fourier"), unknown, "found \"fourier\""),
        ("axis", text("rows"), unknown, "expected input-last-dimension, found \"rows\""),
        ("sign_mode", text("random"), unknown, "expected identity or explicit, found \"random\""),
        ("sign_widths", numbers(&[64]), bad, "164 values, expected 64 for the 1 of"),
        ("sign_widths", numbers(&[82, 82]), bad, "found 82"),
        ("sign_widths", numbers(&[60, 104]), bad, "sign_widths` has no 64, but 60, 104"),
        ("sign_values", numbers(&[2; 164]), bad, "expected 1 or -1, found 2"),
        ("weight_names", strings(&[]), bad, "names 0 tensors"),
        ("weight_names", strings(&["blk.0.attn_q.weight"; 2]), bad, "names blk.0.attn_q.weight twice"),
        ("weight_names", strings(&["blk.9.attn_q.weight"]), bad, "blk.9.attn_q.weight of"),
        ("weight_names", strings(&["output_norm.weight"]), unknown, "tensor output_norm.weight: no product"),
        ("weight_names", strings(&["token_embd.weight"]), bad, "token_embd.weight is no matrix"),
        ("inverse_weight_names", strings(&["output_norm.weight"]), unknown, "found output_norm.weight"),
        ("inverse_weight_names", strings(&["token_embd.weight"]), bad, "expected true where token_embd.weight"),
        ("rows", Value::U32(1), unknown, "prism.hadamard.rows"),
    ];
    for (key, value, code, message) in cases {
        let key = format!("prism.hadamard.{key}");
        let mut wrong = good.clone();
        let start = [&(key.len() as u64).to_le_bytes()[..], key.as_bytes()].concat();
        wrong.pairs.retain(|pair| !pair.starts_with(&start));
        let error = logits(&wrong.pair(&key, value).build(), None).expect_err(message);
        assert!(error.code() == code && error.message().contains(message), "{key}: {error}");
    }
}
