//! Text ↔ ids against numbers that this project did not make.
//!
//! `shared` vocabularies: real ones with the ids that their own tokenizers give, from llama.cpp's test files; they are not
//! part of this repository and live beside it. Committed ones: see `fixtures/tokenizer/README.md`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use webgguf::gguf::HeaderReader;
use webgguf::tokenizer::Tokenizer;

fn shared() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/vocab");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: {} does not exist", folder.display());
    None
}

fn load(path: &Path) -> Tokenizer {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut reader = HeaderReader::new(Some(bytes.len() as u64)).vocabulary_only();
    let gguf = reader.push(&bytes).expect("a GGUF header").expect("a whole header");
    let start = Instant::now();
    let tokenizer = Tokenizer::from_metadata(&gguf.metadata).expect("a tokenizer");
    println!("{}: {} tokens read in {:?}", path.display(), tokenizer.vocab_size(), start.elapsed());
    tokenizer
}

/// llama.cpp's test adds no BOS and parses no special tokens.
fn check_shared(name: &str) {
    let Some(folder) = shared() else { return };
    let tokenizer = load(&folder.join(format!("ggml-vocab-{name}.gguf")));
    let read = |end: &str| fs::read_to_string(folder.join(format!("ggml-vocab-{name}.gguf.{end}"))).expect("a test file");
    let (input, output) = (read("inp"), read("out"));
    let texts: Vec<&str> = input.split("\n__ggml_vocab_test__\n").collect();
    let lines: Vec<&str> = output.lines().collect();
    assert!(lines.len() >= 45 && texts.len() >= lines.len(), "{} texts, {} lines", texts.len(), lines.len());
    let mut failures = 0;
    for (text, line) in texts.iter().zip(&lines) {
        let expected: Vec<u32> = line.split_whitespace().map(|id| id.parse().expect("an id")).collect();
        let found = tokenizer.encode(text, false, false);
        if found != expected {
            println!("{text:?}\n expected {expected:?}\n    found {found:?}");
            failures += 1;
        }
        assert_eq!(tokenizer.decode(&found, false), *text, "{name}");
    }
    println!("{name}: {} of {} cases pass", lines.len() - failures, lines.len());
    assert_eq!(failures, 0, "{name}");
}

#[test]
fn shared_gpt_2() {
    check_shared("gpt-2");
}

#[test]
fn shared_llama_bpe() {
    check_shared("llama-bpe");
}

#[test]
fn shared_qwen2() {
    check_shared("qwen2");
}

#[test]
fn shared_llama_spm() {
    check_shared("llama-spm");
}

#[test]
fn shared_phi_3() {
    check_shared("phi-3");
}

#[test]
fn shared_gemma_4() {
    check_shared("gemma-4");
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tokenizer")
}

fn ids(json: &serde_json::Value) -> Vec<u32> {
    json.as_array().expect("ids").iter().map(|id| id.as_u64().expect("an id") as u32).collect()
}

#[test]
fn committed_vocabularies() {
    let cases = fs::read_to_string(fixtures().join("cases.json")).expect("cases.json");
    let cases: serde_json::Value = serde_json::from_str(&cases).expect("JSON");
    let vocabularies = cases["vocabularies"].as_array().expect("vocabularies");
    assert_eq!(vocabularies.len(), 5);
    for vocabulary in vocabularies {
        let name = vocabulary["vocabulary"].as_str().expect("a name");
        let tokenizer = load(&fixtures().join(name));
        assert!(tokenizer.warnings().is_empty(), "{:?}", tokenizer.warnings());
        for case in vocabulary["cases"].as_array().expect("cases") {
            let text = case[0].as_str().expect("a text");
            let plain = ids(&case[1]);
            let special = case.get(2).map_or_else(|| plain.clone(), ids);
            assert_eq!(tokenizer.encode(text, false, false), plain, "{name}: {text:?}");
            assert_eq!(tokenizer.encode(text, false, true), special, "{name}, special tokens read: {text:?}");
            assert_eq!(tokenizer.decode(&plain, true), text, "{name}");
            assert_eq!(tokenizer.decode(&special, true), text, "{name}");
        }
    }
}
