//! The CPU model against llama.cpp, on small random models; `tests/fixtures/models` says where the numbers come from.
//!
//! `exact` is llama.cpp on the model's F32 twin with an f32 KV cache: with the same cache, this project must say the
//! same to within the rounding of f32. `native` is llama.cpp on the file itself, where it rounds activations to 8 bits;
//! there, nothing but llama.cpp's own distance from `exact` is allowed.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/cpu.rs"]
mod cpu;

use serde_json::Value;
use webgguf::cpu::{CacheFormat, CpuModel, Logits};
use webgguf::kernels::kv_type::KvType;
use webgguf::kernels::reference::{argmax, log_sum_exp};

/// Ids, and what was said of the next at each of them.
struct Forced {
    top1: Vec<u32>,
    logprobs: Vec<f64>,
}

fn expectations(name: &str) -> Value {
    let path = cpu::fixtures().join(format!("{name}.json"));
    serde_json::from_slice(&std::fs::read(path).expect("expectations")).expect("JSON")
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
    let stated = expectations(name);
    let answers = stated["same_as"].as_str().map_or_else(|| stated.clone(), expectations);
    let (prompt, text) = (ids(&answers["prompt"]), ids(&answers["forced"]));
    let (exact, native) = (&answers["exact"], &answers["native"]);
    let expected = ids(&exact["greedy"]);

    let mut model = load(&stated, CacheFormat::F32);
    let logits = model.forward(&prompt, 0, Logits::Last).unwrap();
    let error = relative(&logits, &numbers(&exact["prompt_logits"]));
    assert!(error < 2e-5, "{name}: prompt logits are off by {error}");
    assert_eq!(greedy(&mut model, &prompt, expected.len()), expected, "{name}: greedy text");
    let found = forced(&mut model, &text);
    let from_exact = distance(&found, exact);
    let from_native = distance(&found, native);

    let mut model = load(&stated, CacheFormat::F16);
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

#[test]
fn every_architecture_has_a_model() {
    // What speaks stands with the encoders.
    let folders = ["models", "embedders", "sources", "encoders"].map(|name| cpu::fixtures().with_file_name(name));
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("the fixtures"));
    let files: Vec<Vec<u8>> = entries
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|end| end == "gguf"))
        .map(|path| std::fs::read(path).expect("a model"))
        .collect();
    for architecture in webgguf::model::architectures() {
        // As a header has it: the key, the type of its value (a string), and that behind its length.
        let mut value = b"general.architecture\x08\0\0\0".to_vec();
        value.extend((architecture.len() as u64).to_le_bytes());
        value.extend(architecture.as_bytes());
        let has = |file: &Vec<u8>| file[..file.len().min(4096)].windows(value.len()).any(|window| window == value);
        assert!(files.iter().any(has), "no model of {architecture} is compared with llama.cpp");
    }
}

/// A test per model, so that a failure names it. `models.rs` is written with the expectations.
macro_rules! model {
    ($test:ident, $name:literal) => {
        #[test]
        fn $test() {
            check($name);
        }
    };
}

/// A model in another wrapping has the same answers, but files of its own.
macro_rules! copy {
    ($test:ident, $name:literal) => {
        model!($test, $name);
    };
}

include!("fixtures/models/models.rs");

#[test]
fn every_model_has_expectations_and_stands_in_the_lists() {
    let folder =
        std::fs::read_dir(cpu::fixtures()).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let stems = |ending: &str, names: &[String]| -> Vec<String> {
        names.iter().filter_map(|name| name.strip_suffix(ending)).map(str::to_owned).collect()
    };
    let mut files: Vec<String> = folder.map(|name| name.into_string().expect("UTF-8")).collect();
    files.sort();
    let mut models = stems(".gguf", &files);
    // The first part of a split file stands for all.
    models.retain(|name| !name.contains("-of-") || name.contains("-00001-of-"));
    models.iter_mut().for_each(|name| name.truncate(name.find("-00001-of-").unwrap_or(name.len())));
    let mut expected = stems(".json", &files);
    expected.retain(|name| name != "storyteller");
    let read = |name: &str| std::fs::read_to_string(cpu::fixtures().join(name)).expect("a list");
    let mut listed: Vec<String> = read("models.txt").lines().map(str::to_owned).collect();
    let rust = read("models.rs");
    let mut tested: Vec<String> = rust.lines().filter_map(|line| Some(line.split('"').nth(1)?.to_owned())).collect();
    for names in [&mut models, &mut expected, &mut listed, &mut tested] {
        names.sort();
    }
    assert_eq!(models, expected, "files and expectations");
    assert_eq!(models, listed, "files and models.txt");
    assert_eq!(models, tested, "files and models.rs");
}

/// With caches in blocks llama.cpp also rounds queries to 8 bits, and values near the middle between two quants may
/// fall to either side. What is left must be less than what the blocks themselves change.
#[test]
fn caches_in_blocks_say_what_llama_cpp_says() {
    let path = cpu::fixtures().with_file_name("kv_types.json");
    let said: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for (name, said) in said.as_object().expect("models by name") {
        let stated = expectations(name);
        let of = |kv_type: KvType| numbers(&said[kv_type.as_str()]);
        let text = &ids(&stated["forced"])[..of(KvType::F16).len() + 1];
        let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>() / a.len() as f64;
        for kv_type in KvType::ALL {
            let mut model = load(&stated, CacheFormat::Rounded(kv_type));
            let off = distance(&forced(&mut model, text).logprobs, &of(kv_type));
            let moved = distance(&of(kv_type), &numbers(&stated["exact"]["logprobs"]));
            // Queries in 8 bits change about as much as keys in 8 bits.
            let most = match kv_type {
                KvType::F16 => 2e-4,
                KvType::Q8_0 => 0.9 * moved,
                KvType::Q4_0 => 0.25 * moved,
            };
            assert!(off < most, "{name} {kv_type:?}: {off:.5} off, the cache changes {moved:.5}");
        }
    }
}
