//! The CPU model against llama.cpp, on small random models; `tests/fixtures/models` says where the numbers come from.
//!
//! `exact` is llama.cpp on the model's F32 twin with an f32 KV cache: with the same cache, this project must say the
//! same to within the rounding of f32. `native` is llama.cpp on the file itself, where it rounds activations to 8 bits;
//! there, nothing but llama.cpp's own distance from `exact` is allowed.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/cpu.rs"]
mod cpu;

use serde_json::Value;
use webgguf::reference::{CacheFormat, CpuModel, Logits, argmax, log_sum_exp};

/// Ids, and what was said of the next at each of them.
struct Forced {
    top1: Vec<u32>,
    logprobs: Vec<f64>,
}

fn expectations() -> Value {
    let path = cpu::fixtures().join("expectations.json");
    serde_json::from_slice(&std::fs::read(path).expect("expectations.json")).expect("JSON")
}

fn ids(value: &Value) -> Vec<u32> {
    serde_json::from_value(value.clone()).expect("ids")
}

fn numbers(value: &Value) -> Vec<f64> {
    serde_json::from_value(value.clone()).expect("numbers")
}

fn load(entry: &Value, cache: CacheFormat) -> CpuModel {
    let files: Vec<String> = serde_json::from_value(entry["files"].clone()).expect("file names");
    let paths: Vec<_> = files.iter().map(|name| cpu::fixtures().join(name)).collect();
    cpu::load(&paths, cache)
}

fn greedy(model: &mut CpuModel, prompt: &[u32], count: usize) -> Vec<u32> {
    let mut logits = model.forward(prompt, 0, Logits::Last).unwrap();
    let mut text = Vec::new();
    loop {
        text.push(argmax(&logits) as u32);
        if text.len() == count {
            return text;
        }
        logits = model.forward(&text[text.len() - 1..], prompt.len() + text.len() - 1, Logits::Last).unwrap();
    }
}

fn forced(model: &mut CpuModel, ids: &[u32]) -> Forced {
    let logits = model.forward(ids, 0, Logits::All).unwrap();
    let rows: Vec<&[f32]> = logits.chunks_exact(model.config().vocab).collect();
    let logprob = |(row, &next): (&&[f32], &u32)| f64::from(row[next as usize] - log_sum_exp(row));
    Forced {
        top1: rows.iter().map(|row| argmax(row) as u32).collect(),
        logprobs: rows.iter().zip(&ids[1..]).map(logprob).collect(),
    }
}

/// How far two answers to the same text are apart.
#[derive(Debug)]
struct Distance {
    /// Share of positions with the same first choice.
    top1: f64,
    /// Positions where the choice differs though it was clear to the oracle.
    clear_misses: usize,
    /// Mean of |Δ log-probability|.
    logprob: f64,
}

fn distance(found: &Forced, expected: &Value) -> Distance {
    let (top1, margins) = (ids(&expected["top1"]), numbers(&expected["margin"]));
    let logprobs = numbers(&expected["logprobs"]);
    assert_eq!((found.top1.len(), found.logprobs.len()), (top1.len(), logprobs.len()));
    let same = found.top1.iter().zip(&top1).map(|(a, b)| a == b);
    let moved = found.logprobs.iter().zip(&logprobs).map(|(a, b)| (a - b).abs());
    Distance {
        top1: same.clone().filter(|&same| same).count() as f64 / top1.len() as f64,
        clear_misses: same.zip(&margins).filter(|&(same, &margin)| !same && margin > 1e-2).count(),
        logprob: moved.sum::<f64>() / logprobs.len() as f64,
    }
}

/// ‖a − b‖ / ‖b‖.
fn relative(found: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
    let difference = norm(&mut found.iter().zip(expected).map(|(&a, b)| f64::from(a) - b));
    difference / norm(&mut expected.iter().copied())
}

fn check(name: &str) {
    let all = expectations();
    let stated = &all["models"][name];
    let answers = stated["same_as"].as_str().map_or(stated, |same| &all["models"][same]);
    let (prompt, text) = (ids(&answers["prompt"]), ids(&answers["forced"]));
    let (exact, native) = (&answers["exact"], &answers["native"]);
    let expected = ids(&exact["greedy"]);

    let mut model = load(stated, CacheFormat::F32);
    let logits = model.forward(&prompt, 0, Logits::Last).unwrap();
    let error = relative(&logits, &numbers(&exact["prompt_logits"]));
    assert!(error < 2e-5, "{name}: prompt logits are off by {error}");
    assert_eq!(greedy(&mut model, &prompt, expected.len()), expected, "{name}: greedy text");
    let found = forced(&mut model, &text);
    let from_exact = distance(&found, exact);
    let from_native = distance(&found, native);

    let mut model = load(stated, CacheFormat::F16);
    assert_eq!(greedy(&mut model, &prompt, expected.len()), expected, "{name}: greedy text with an f16 cache");
    let rounded = distance(&forced(&mut model, &text), exact);

    println!("{name}: prompt logits {error:.1e}\n  exact {from_exact:?}");
    println!("  f16 cache {rounded:?}\n  native {from_native:?}");
    assert!(from_exact.clear_misses == 0 && from_exact.logprob < 3e-5, "{name}: {from_exact:?}");
    assert!(rounded.clear_misses == 0 && rounded.top1 >= 0.99 && rounded.logprob < 2e-3, "{name}: {rounded:?}");
    let of_native = &answers["rounding"]["native"];
    let (agreement, moved) = (&of_native["top1_agreement"], &of_native["mean_abs_logprob"]);
    let (agreement, moved) = (agreement.as_f64().expect("a number"), moved.as_f64().expect("a number"));
    assert!(from_native.top1 > agreement - 0.01 && from_native.logprob < moved + 1e-3, "{name}: {from_native:?}");
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
    llama_f32: "llama-f32",
    llama_f16: "llama-f16",
    llama_bf16: "llama-bf16",
    llama_bf16_v2: "llama-bf16-v2",
    llama_q8_0: "llama-q8_0",
    llama_q4_0: "llama-q4_0",
    llama_q4_1: "llama-q4_1",
    llama_q4_1_split: "llama-q4_1-split",
    llama_q5_0: "llama-q5_0",
    llama_q5_1: "llama-q5_1",
    llama_q2_k: "llama-q2_k",
    llama_q3_k: "llama-q3_k",
    llama_q5_k: "llama-q5_k",
    llama_q6_k: "llama-q6_k",
    llama_q4_k_m: "llama-q4_k_m",
    qwen2_q8_0: "qwen2-q8_0",
    qwen3_q4_0: "qwen3-q4_0",
    gemma_q8_0: "gemma-q8_0",
    gemma2_bf16: "gemma2-bf16",
    gemma2_q4_0: "gemma2-q4_0",
    gemma3_f16: "gemma3-f16",
    gemma3_q5_1: "gemma3-q5_1",
    gemma3_q4_k_m: "gemma3-q4_k_m",
}

#[test]
fn every_model_has_a_test() {
    let all = expectations();
    let names: Vec<&String> = all["models"].as_object().expect("models by name").keys().collect();
    let missing: Vec<_> = names.iter().filter(|name| !MODELS.contains(&name.as_str())).collect();
    assert!(missing.is_empty(), "no test for {missing:?}");
}
