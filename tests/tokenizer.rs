//! Text ↔ ids against numbers that this project did not make.
//!
//! `shared` vocabularies: real ones with the ids that their own tokenizers give, from llama.cpp's test files; they are
//! not part of this repository and live beside it. Committed ones: see `fixtures/tokenizer/README.md`.

#![cfg(not(target_arch = "wasm32"))]

#[path = "common/cpu_clock.rs"]
mod cpu_clock;
#[path = "common/yielding.rs"]
mod yielding;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cpu_clock::CpuClock;
use webgguf::gguf::{Array, HeaderReader, Metadata, Value};
use webgguf::tokenizer::{TextStream, Tokenizer};
use webgguf::{Error, ErrorCode};
use yielding::{count_yields, yield_now};

fn shared() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/vocab");
    if folder.is_dir() {
        return Some(folder);
    }
    // Past the capture of the test harness, so that it is seen.
    let _ = writeln!(io::stderr(), "skipped: {} does not exist", folder.display());
    None
}

fn load(path: &Path) -> Tokenizer {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut reader = HeaderReader::new(Some(bytes.len() as u64)).vocabulary_only();
    let gguf = reader.push(&bytes).expect("a GGUF header").expect("a whole header");
    let start = CpuClock::start();
    let tokenizer = Tokenizer::from_metadata(&gguf.metadata).expect("a tokenizer");
    println!("{}: {} tokens read in {:?}", path.display(), tokenizer.vocab_size(), start.elapsed());
    tokenizer
}

/// llama.cpp's test adds no BOS and parses no special tokens.
fn check_shared(name: &str) {
    let Some(folder) = shared() else { return };
    let tokenizer = load(&folder.join(format!("ggml-vocab-{name}.gguf")));
    let read =
        |end: &str| fs::read_to_string(folder.join(format!("ggml-vocab-{name}.gguf.{end}"))).expect("a test file");
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

/// More vocabularies from llama.cpp's sources, where `WEBGGUF_VOCABULARIES` names their folder: each file
/// `ggml-vocab-NAME.gguf` with `.inp` and `.out` beside it, and each `NAME.gguf` with `NAME.json`, cases like the
/// committed ones.
#[test]
fn vocabularies_of_a_folder() {
    let Some(folder) = std::env::var_os("WEBGGUF_VOCABULARIES").map(PathBuf::from) else { return };
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder).expect("a folder").map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|end| end == "gguf")) {
        if let Ok(cases) = fs::read_to_string(path.with_extension("json")) {
            check_cases(path, &serde_json::from_str(&cases).expect("JSON"));
        }
        let beside = |end: &str| fs::read_to_string(format!("{}.{end}", path.display()));
        if let (Ok(input), Ok(output)) = (beside("inp"), beside("out")) {
            let tokenizer = load(path);
            for (text, line) in input.split("\n__ggml_vocab_test__\n").zip(output.lines()) {
                let expected: Vec<u32> = line.split_whitespace().map(|id| id.parse().expect("an id")).collect();
                assert_eq!(tokenizer.encode(text, false, false), expected, "{}: {text:?}", path.display());
            }
        }
    }
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
    assert_eq!(vocabularies.len(), 10);
    for vocabulary in vocabularies {
        let name = vocabulary["vocabulary"].as_str().expect("a name");
        check_cases(&fixtures().join(name), vocabulary);
    }
}

/// RWKV's vocabulary has any bytes as tokens, and answers that end with a blank line.
#[test]
fn the_longest_tokens_of_bytes() {
    let cases = fs::read_to_string(fixtures().join("world.json")).expect("world.json");
    let cases: serde_json::Value = serde_json::from_str(&cases).expect("JSON");
    let path = fixtures().join("world.gguf");
    check_cases(&path, &cases);
    let tokenizer = load(&path);
    let blank_line = tokenizer.encode("\n\n", false, false);
    assert_eq!(tokenizer.end_of_generation_ids(), [0, blank_line[0]]);
    assert_eq!((tokenizer.decode(&blank_line, false), tokenizer.is_special(blank_line[0])), ("\n\n".into(), false));
    assert_eq!((tokenizer.adds_bos(), tokenizer.chat_template()), (false, None), "the template is a name");
    let start = tokenizer.encode("<s>", false, false);
    assert!(!start.contains(&0) && tokenizer.encode("<s>", false, true) == [0], "{start:?}");
    assert_eq!(tokenizer.protect("a\n\n<s>", |_| false).chars().filter(|&c| c == '\u{fdd1}').count(), 1);
    let parts: Vec<&[u8]> = (1..tokenizer.vocab_size() as u32).filter_map(|id| tokenizer.token_bytes(id)).collect();
    assert!(parts.iter().any(|bytes| bytes.len() > 1 && std::str::from_utf8(bytes).is_err()));
}

/// The same vocabularies under names of pre-tokenizers that only llama.cpp's newest version knows; special tokens are
/// added and read in the second list of ids.
#[test]
fn the_newest_pre_tokenizers() {
    let cases = fs::read_to_string(fixtures().join("newest.json")).expect("newest.json");
    let cases: serde_json::Value = serde_json::from_str(&cases).expect("JSON");
    let mut failures = 0;
    for named in cases["names"].as_array().expect("names") {
        let [pre, vocabulary] = ["pre", "vocabulary"].map(|key| named[key].as_str().expect("a text"));
        let bytes = fs::read(fixtures().join(vocabulary)).expect("a vocabulary");
        let mut reader = HeaderReader::new(Some(bytes.len() as u64)).vocabulary_only();
        let mut metadata = reader.push(&bytes).expect("a GGUF header").expect("a whole header").metadata;
        // PLaMo 3 has another model instead of another pre-tokenizer.
        let model = if pre == "plamo3" { pre } else { "gpt2" };
        metadata.insert("tokenizer.ggml.model", Value::String(model.into()));
        metadata.insert("tokenizer.ggml.pre", Value::String(pre.into()));
        let tokenizer = Tokenizer::from_metadata(&metadata).expect("a tokenizer");
        for case in named["cases"].as_array().expect("cases") {
            let text = case[0].as_str().expect("a text");
            for (special, expected) in [(false, ids(&case[1])), (true, ids(&case[2]))] {
                let found = tokenizer.encode(text, special, special);
                if found != expected {
                    println!("{pre} {text:?} {special}\n expected {expected:?}\n    found {found:?}");
                    failures += 1;
                }
            }
        }
    }
    assert_eq!(failures, 0, "texts with other ids");
}

#[test]
fn a_byte_that_no_token_begins_with_is_unknown() {
    let world = |unknown: Option<u32>| {
        let metadata = [
            ("tokenizer.ggml.model", Value::String("rwkv".into())),
            ("tokenizer.ggml.tokens", strings(&["?", "a", "ab", "b\\xc3", "\\xa9"])),
        ];
        let unknown = unknown.map(|id| ("tokenizer.ggml.unknown_token_id", Value::U32(id)));
        Tokenizer::from_metadata(&metadata.into_iter().chain(unknown).collect()).expect("a vocabulary")
    };
    // é is two bytes, the first of which is no token by itself.
    assert_eq!(world(None).encode("aabxbéé", false, false), [1, 2, 3, 4, 4]);
    assert_eq!(world(Some(0)).encode("abxbéé", false, false), [2, 0, 3, 4, 0, 4]);
    assert_eq!(world(None).decode(&[3, 4, 4], false), "bé\u{fffd}");
}

/// The blank line that ends an answer is text, the token that ends a text is not.
#[test]
fn typing_the_end_of_a_text_does_not_end_it() {
    let metadata = [
        ("tokenizer.ggml.model", Value::String("rwkv".into())),
        ("tokenizer.ggml.tokens", strings(&["<s>", "<", "s", ">", "\\n\\n"])),
        ("tokenizer.ggml.eos_token_id", Value::U32(0)),
        ("tokenizer.ggml.eot_token_id", Value::U32(4)),
    ];
    let world = Tokenizer::from_metadata(&metadata.into_iter().collect()).expect("a vocabulary");
    assert_eq!(world.encode("<s>\n\n", false, false), [1, 2, 3, 4]);
    assert_eq!((world.is_special(0), world.is_special(4)), (true, false));
    assert_eq!(world.end_of_generation_ids(), [0, 4]);
}

/// PLaMo 2's tokens spell text as it is. Decoding writes tokens as they are and bytes as bytes: a byte order mark in
/// front of a text is lost, nothing else.
#[test]
fn the_highest_scores_from_the_end() {
    let cases = fs::read_to_string(fixtures().join("plamo.json")).expect("plamo.json");
    let cases: serde_json::Value = serde_json::from_str(&cases).expect("JSON");
    let path = fixtures().join("plamo.gguf");
    check_cases(&path, &cases);
    let tokenizer = load(&path);
    assert_eq!(tokenizer.end_of_generation_ids(), [2, 4], "the end of a text, and of a turn");
    assert_eq!((tokenizer.unknown(), tokenizer.bos(), tokenizer.padding()), (Some(0), Some(1), Some(3)));
    assert!(!tokenizer.adds_bos());
    let named = "<|plamo:eos|>";
    assert_eq!(tokenizer.encode(named, false, true), [2]);
    // llama.cpp reads control tokens in any text: their score is 0, the highest.
    let typed = tokenizer.encode(named, false, false);
    assert!(!typed.contains(&2) && tokenizer.decode(&typed, false) == named, "{typed:?}");
    assert_eq!(tokenizer.decode(&[2], false) + &tokenizer.decode(&[2], true), named);
    // It takes tokens without a use for the end of a list, and then finds no token that begins with the letter before.
    let unused = tokenizer.vocab_size() as u32 - 1;
    let padding = tokenizer.name(Some(unused));
    assert!(padding.starts_with("[PAD") && !tokenizer.encode(&padding, false, false).contains(&unused), "{padding}");
}

/// A vocabulary of PLaMo 2's kind: tokens with scores from id 0 on, then the bytes.
fn scored(tokens: &[(&str, f32)], bytes: usize) -> Result<Tokenizer, Error> {
    let names: Vec<String> = (0..bytes).map(|byte| format!("<0x{byte:02X}>")).collect();
    let texts: Vec<&str> = tokens.iter().map(|(text, _)| *text).chain(names.iter().map(String::as_str)).collect();
    let mut scores: Vec<f32> = tokens.iter().map(|(_, score)| *score).collect();
    scores.resize(texts.len(), 0.0);
    let mut kinds = vec![1; tokens.len()];
    kinds.resize(texts.len(), 6);
    let metadata = [
        ("tokenizer.ggml.model", Value::String("plamo2".into())),
        ("tokenizer.ggml.tokens", strings(&texts)),
        ("tokenizer.ggml.scores", Value::Array(Array::F32(scores))),
        ("tokenizer.ggml.token_type", Value::Array(Array::I32(kinds))),
    ];
    Tokenizer::from_metadata(&metadata.into_iter().collect())
}

#[test]
fn of_equal_ways_the_one_with_the_longest_first_token_counts() {
    let ids = |tokens: &[(&str, f32)], text: &str| scored(tokens, 256).expect("bytes").encode(text, false, false);
    let first = [("a", -1.0), ("ab", -2.0), ("bc", -2.0), ("c", -1.0)];
    assert_eq!(ids(&first, "abc"), [1, 3], "ab c before a bc");
    // Differences below 1/20,000 are none.
    let close = [("a", -1.0), ("ab", -2.00004), ("bc", -2.0), ("c", -1.0)];
    assert_eq!(ids(&close, "abc"), [1, 3]);
    let apart = [("a", -1.0), ("ab", -2.0001), ("bc", -2.0), ("c", -1.0)];
    assert_eq!(ids(&apart, "abc"), [0, 2]);
    // A character without a token costs 1000, as bytes: é is C3 A9.
    assert_eq!(ids(&[("a", -1.0)], "éa"), [1 + 0xC3, 1 + 0xA9, 0]);
    assert_eq!(ids(&[("é", -1000.0)], "é"), [0], "as much as its bytes");
    assert_eq!(ids(&[("é", -1000.1)], "é"), [1 + 0xC3, 1 + 0xA9]);
    assert_eq!(ids(&[("ééé", -1999.0)], "ééé"), [0]);
    // Tokens of −2000 and less, and those without a score, are never taken.
    for score in [-2000.0, -1e30, f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert_eq!(ids(&[("ééé", score)], "ééé").len(), 6, "{score}");
    }
    assert_eq!(ids(&[("a", f32::MAX), ("aa", f32::MAX)], "aaa"), [0, 0, 0]);
    let error = scored(&first, 200).expect_err("bytes are missing");
    assert!(error.code() == ErrorCode::BadFile && error.message().contains("<0xC8>"), "{error}");
}

/// Each case is a text, its ids, its ids with special tokens read where they differ (else null or missing), and the
/// text that the ids give where that differs (null where it is not compared). Pairs are two texts, the ids of both,
/// where the second begins, and the ids of the first alone with the special tokens that belong to it.
fn check_cases(path: &Path, vocabulary: &serde_json::Value) {
    let tokenizer = load(path);
    let name = path.display();
    assert!(tokenizer.warnings().is_empty(), "{name}: {:?}", tokenizer.warnings());
    let mut wrong = 0;
    let mut check = |found: String, expected: String, text: &str| {
        if found != expected {
            println!("{name}: {text:?}\n expected {expected}\n    found {found}");
            wrong += 1;
        }
    };
    for case in vocabulary["cases"].as_array().expect("cases") {
        let text = case[0].as_str().expect("a text");
        let plain = ids(&case[1]);
        let special = case.get(2).filter(|ids| !ids.is_null()).map_or_else(|| plain.clone(), ids);
        check(format!("{:?}", tokenizer.encode(text, false, false)), format!("{plain:?}"), text);
        check(format!("{:?}", tokenizer.encode(text, false, true)), format!("{special:?}"), text);
        let decoded = case.get(3).map_or(Some(text), |text| text.as_str());
        let Some(decoded) = decoded else { continue };
        check(tokenizer.decode(&plain, true), decoded.to_owned(), text);
        if case.get(3).is_none() {
            check(tokenizer.decode(&special, true), decoded.to_owned(), text);
        }
    }
    assert_eq!(wrong, 0, "{name}");
    for pair in vocabulary["pairs"].as_array().into_iter().flatten() {
        let texts = [&pair[0], &pair[1]].map(|text| text.as_str().expect("a text"));
        let found = tokenizer.encode_pair(texts[0], texts[1]);
        assert_eq!(found.ids, ids(&pair[2]), "{name}: {texts:?}");
        assert_eq!(found.second.map(|at| at as u64), pair[3].as_u64(), "{name}: {texts:?}");
        assert_eq!(tokenizer.encode(texts[0], true, false), ids(&pair[4]), "{name}: {texts:?}");
    }
}

/// Merging a word of n characters takes n log n steps, not n².
#[test]
fn long_words_take_no_age() {
    let text = "hedgehogfoundasilverkey".repeat(10_000);
    for name in ["bytes-llama-bpe.gguf", "spm.gguf", "characters.gguf", "unigram.gguf", "plamo.gguf"] {
        let tokenizer = load(&fixtures().join(name));
        let start = CpuClock::start();
        let ids = tokenizer.encode(&text, false, true);
        assert_eq!(tokenizer.decode(&ids, false), text);
        assert!(start.elapsed().as_secs() < 20, "{name}: {:?}", start.elapsed());
    }
}

/// Nested tokens and a table that replaces every letter are the worst for the unigram model; words longer than any are
/// for WordPiece.
#[test]
fn long_texts_of_nested_tokens_take_no_age() {
    let pieces: Vec<String> = (1..2000).map(|n| "a".repeat(n)).collect();
    let bytes: Vec<String> = (0..256).map(|byte| format!("<0x{byte:02X}>")).collect();
    let mut tokens = vec!["<pad>", "</s>", "<unk>"];
    tokens.extend(pieces.iter().chain(&bytes).map(String::as_str));
    let mut scores = vec![-1.0; tokens.len()];
    scores.iter_mut().enumerate().for_each(|(id, score)| *score -= id as f32);
    let mut kinds = vec![1; 3 + pieces.len()];
    kinds.resize(tokens.len(), 6);
    for model in ["t5", "bert", "plamo2", "plamo3"] {
        let metadata: Metadata = [
            ("tokenizer.ggml.model", Value::String(model.into())),
            ("tokenizer.ggml.tokens", strings(&tokens)),
            ("tokenizer.ggml.scores", Value::Array(Array::F32(scores.clone()))),
            ("tokenizer.ggml.token_type", Value::Array(Array::I32(kinds.clone()))),
        ]
        .into_iter()
        .collect();
        let tokenizer = Tokenizer::from_metadata(&metadata).expect("a tokenizer");
        let start = CpuClock::start();
        let ids = tokenizer.encode(&"a".repeat(1 << 20), false, false);
        assert!(!ids.is_empty() && start.elapsed().as_secs() < 60, "{model}: {:?}", start.elapsed());
        println!("{model}: {:?}", start.elapsed());
    }
}

/// The metadata of a small SentencePiece vocabulary, changed by `change`.
fn small(change: impl FnOnce(&mut Metadata)) -> Result<Tokenizer, Error> {
    let tokens = ["<unk>", "<s>", "</s>", "<0x41>", "▁", "a", "b", "ab", "▁ab", "<|im_end|>", "<tool>"];
    let kinds = vec![2, 3, 3, 6, 1, 1, 1, 1, 1, 1, 4];
    let scores = vec![0.0, 0.0, 0.0, 0.0, -1.0, -2.0, -3.0, -4.0, -5.0, -6.0, -7.0];
    let mut metadata: Metadata = [
        ("tokenizer.ggml.model", Value::String("llama".into())),
        ("tokenizer.ggml.tokens", Value::Array(Array::Strings(tokens.iter().collect()))),
        ("tokenizer.ggml.token_type", Value::Array(Array::I32(kinds))),
        ("tokenizer.ggml.scores", Value::Array(Array::F32(scores))),
    ]
    .into_iter()
    .collect();
    change(&mut metadata);
    Tokenizer::from_metadata(&metadata)
}

/// A draft model's vocabulary is that of its model, but for one name in a hundred.
#[test]
fn vocabularies_are_compared_token_by_token() {
    let named = |renamed: usize, count: usize| {
        let names: Vec<String> = (0..count).map(|id| format!("{}{id}", if id < renamed { "x" } else { "t" })).collect();
        let tokens = Value::Array(Array::Strings(names.iter().map(String::as_str).collect()));
        small_bytes(|metadata| {
            metadata.insert("tokenizer.ggml.tokens", tokens);
            metadata
                .insert("tokenizer.ggml.merges", Value::Array(Array::Strings(std::iter::empty::<&str>().collect())));
        })
        .expect("a tokenizer")
    };
    let own = named(0, 200);
    assert!(own.check_like(&named(0, 200)).is_ok() && own.check_like(&named(2, 200)).is_ok());
    let error = own.check_like(&named(3, 200)).expect_err("another vocabulary");
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert_eq!(
        error.message(),
        "option 'draft': another vocabulary: 3 of 200 tokens differ, the first is 0, 'x0', which the model has as 't0'"
    );
    let error = own.check_like(&named(0, 190)).expect_err("fewer tokens");
    assert!(error.message().contains("10 of 200 tokens differ, the first is 190"), "{}", error.message());
}

/// The metadata of a small byte-level vocabulary, changed by `change`.
fn small_bytes(change: impl FnOnce(&mut Metadata)) -> Result<Tokenizer, Error> {
    let tokens = ["a", "b", "c", "ab", "<|endoftext|>", "Ġ"];
    let mut metadata: Metadata = [
        ("tokenizer.ggml.model", Value::String("gpt2".into())),
        ("tokenizer.ggml.pre", Value::String("gpt-2".into())),
        ("tokenizer.ggml.tokens", Value::Array(Array::Strings(tokens.iter().collect()))),
        ("tokenizer.ggml.merges", Value::Array(Array::Strings(["a b", "ab c"].iter().collect()))),
    ]
    .into_iter()
    .collect();
    change(&mut metadata);
    Tokenizer::from_metadata(&metadata)
}

/// A page's thread is free again after some four thousand tokens or merges.
#[test]
fn a_large_vocabulary_gives_up_the_thread_in_between() {
    const COUNT: usize = 30_000;
    let bytes = ('a'..='z').map(String::from);
    let triples = (0..COUNT).map(|n| format!("{n}").bytes().map(|digit| char::from(digit - b'0' + b'a')).collect());
    let mut tokens: Vec<String> = bytes.chain(triples).collect();
    let mut seen = std::collections::HashSet::new();
    tokens.retain(|token| seen.insert(token.clone()));
    let long = tokens.iter().filter(|token| token.len() > 1);
    let halves = long.map(|token| token.split_at(token.len() - 1));
    let merges: Vec<String> = halves.map(|(left, right)| format!("{left} {right}")).collect();
    let metadata: Metadata = [
        ("tokenizer.ggml.model", Value::String("gpt2".into())),
        ("tokenizer.ggml.pre", Value::String("gpt-2".into())),
        ("tokenizer.ggml.tokens", Value::Array(Array::Strings(tokens.iter().collect()))),
        ("tokenizer.ggml.merges", Value::Array(Array::Strings(merges.iter().collect()))),
    ]
    .into_iter()
    .collect();
    let (tokenizer, yields) = count_yields(Tokenizer::yielding(&metadata, yield_now));
    // Once over the merges, five times over the tokens: read, indexed in two rounds, two searched for special ones.
    assert!(yields >= 6 * (COUNT / 4096), "{yields} yields");
    let at_once = Tokenizer::from_metadata(&metadata).expect("a tokenizer");
    let ids = tokenizer.expect("a tokenizer").encode("bcabdaz jaab", false, false);
    assert_eq!(ids, at_once.encode("bcabdaz jaab", false, false));
    assert!(ids.len() < 12, "{ids:?} are merged");
}

fn strings(texts: &[&str]) -> Value {
    Value::Array(Array::Strings(texts.iter().collect()))
}

#[test]
fn begin_and_end_are_added_as_the_file_says() {
    let tokenizer = small(|_| ()).expect("a tokenizer");
    assert_eq!(tokenizer.encode("ab", true, false), [1, 8]);
    assert_eq!(tokenizer.encode("ab", false, false), [8]);
    assert_eq!(tokenizer.encode("", true, false), [1]);
    let tokenizer = small(|metadata| {
        metadata.insert("tokenizer.ggml.add_bos_token", Value::Bool(false));
        metadata.insert("tokenizer.ggml.add_eos_token", Value::Bool(true));
        metadata.insert("tokenizer.ggml.add_space_prefix", Value::Bool(false));
    })
    .expect("a tokenizer");
    assert_eq!(tokenizer.encode("ab", true, false), [7, 2]);
    assert!(!tokenizer.adds_bos());
    // Byte-level vocabularies add BOS for some pre-tokenizers only.
    for (pre, adds) in [("gpt-2", false), ("llama-bpe", true), ("tekken", true), ("qwen2", false)] {
        let tokenizer = small_bytes(|metadata| {
            metadata.insert("tokenizer.ggml.pre", Value::String(pre.into()));
            metadata.insert("tokenizer.ggml.bos_token_id", Value::U32(4));
        })
        .expect("a tokenizer");
        assert_eq!(tokenizer.encode("a", true, false), if adds { vec![4, 0] } else { vec![0] }, "{pre}");
    }
}

#[test]
fn a_prompt_gets_one_begin() {
    let tokenizer = small(|_| ()).expect("a tokenizer");
    assert_eq!(tokenizer.encode_prompt("ab"), [1, 8]);
    assert_eq!(tokenizer.encode_prompt("<s>ab</s>"), [1, 8, 2]);
    assert_eq!(tokenizer.encode_prompt(""), [1]);
}

#[test]
fn special_tokens_in_text() {
    let tokenizer = small(|_| ()).expect("a tokenizer");
    let (unknown, byte) = (0, 3);
    assert_eq!(tokenizer.encode("ab<s>ab", false, true), [8, 1, 8]);
    assert_eq!(tokenizer.encode("ab<tool>ab", false, false), [8, 10, 8]);
    // Without tokens of their own, characters become byte tokens, and bytes without a token the unknown one.
    assert_eq!(tokenizer.encode("abA<s>", false, false), [8, byte, unknown, unknown, unknown]);
    assert_eq!(tokenizer.decode(&[1, 8, 10, 8, 2], false), "ab<tool>ab");
    assert_eq!(tokenizer.decode(&[1, 8, 2], true), "<s>ab</s>");
    assert_eq!(tokenizer.decode(&[8, 8, 99], true), "ab ab");
    assert_eq!(tokenizer.token_bytes(3), Some(&b"A"[..]));
    assert_eq!(tokenizer.token_bytes(11), None);
}

#[test]
fn streams_give_what_decode_gives() {
    let tokenizer = small(|_| ()).expect("a tokenizer");
    let stream = |continues| {
        let mut stream = TextStream::new(false, continues);
        let text: String = [1, 8, 3, 8].iter().map(|&id| stream.push(&tokenizer, id)).collect();
        text + &stream.flush()
    };
    assert_eq!(stream(false), "abA ab");
    let mut goes_on = TextStream::new(false, true);
    assert_eq!(goes_on.push(&tokenizer, 8), " ab");
}

#[test]
fn ends_are_known_by_key_and_by_name() {
    let tokenizer = small(|_| ()).expect("a tokenizer");
    assert_eq!(tokenizer.end_of_generation_ids(), [2, 9]);
    assert!(tokenizer.is_end_of_generation(9) && !tokenizer.is_end_of_generation(1));
    // A known end is a control token, whatever the file says.
    assert!(tokenizer.is_special(9));
    assert_eq!(tokenizer.encode("<|im_end|>", false, true), [9]);
    let tokenizer = small(|metadata| {
        metadata.insert("tokenizer.ggml.eos_token_id", Value::U32(5));
        metadata.insert("tokenizer.ggml.eot_token_id", Value::U32(6));
        metadata.insert("tokenizer.ggml.eom_token_id", Value::U32(7));
    })
    .expect("a tokenizer");
    assert_eq!(tokenizer.end_of_generation_ids(), [2, 5, 6, 7, 9]);
}

#[test]
fn some_ends_depend_on_their_company() {
    let ends = |tokens: &[&str], kinds: &[i32]| {
        let tokenizer = small_bytes(|metadata| {
            metadata.insert("tokenizer.ggml.tokens", strings(tokens));
            metadata.insert("tokenizer.ggml.merges", strings(&[]));
            metadata.insert("tokenizer.ggml.token_type", Value::Array(Array::I32(kinds.to_vec())));
        });
        tokenizer.expect("a tokenizer").end_of_generation_ids()
    };
    assert_eq!(ends(&["<|end|>", "<|call|>"], &[3, 3]), [0, 1]);
    assert_eq!(ends(&["<|end|>", "<|call|>", "<|return|>"], &[3, 3, 3]), [1, 2]);
    assert_eq!(ends(&["</s>", "<eos>", "<turn|>"], &[3, 3, 3]), [0, 1, 2]);
    assert_eq!(ends(&["</s>", "<eos>", "<|tool_response>"], &[3, 1, 3]), [2]);
}

/// As llama.cpp has it: what is thought and what is said must be told apart in the text.
#[test]
fn parts_of_the_harmony_format_are_text() {
    let tokenizer = small_bytes(|metadata| {
        let tokens = ["a", "<|channel|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>", "<|other|>"];
        metadata.insert("tokenizer.ggml.tokens", strings(&tokens));
        metadata.insert("tokenizer.ggml.merges", strings(&[]));
        metadata.insert("tokenizer.ggml.token_type", Value::Array(Array::I32(vec![1, 3, 3, 3, 3, 3, 3])));
    })
    .expect("a tokenizer");
    let text = tokenizer.decode(&[1, 0, 2, 0, 3, 6, 5], false);
    assert_eq!(text, "<|channel|>a<|message|>a<|end|>");
    let gemma = small_bytes(|metadata| {
        metadata.insert("tokenizer.ggml.tokens", strings(&["</s>", "<|tool_response>"]));
        metadata.insert("tokenizer.ggml.merges", strings(&[]));
        metadata.insert("tokenizer.ggml.token_type", Value::Array(Array::I32(vec![3, 3])));
    })
    .expect("a tokenizer");
    assert_eq!(gemma.decode(&[0, 1], false), "</s>");
}

#[test]
fn merges_mean_normal_tokens() {
    let tokenizer = small_bytes(|metadata| {
        metadata.insert("tokenizer.ggml.tokens", strings(&["  ", "Ġ", "ĠĠ", "a"]));
        metadata.insert("tokenizer.ggml.merges", strings(&["Ġ Ġ"]));
        metadata.insert("tokenizer.ggml.token_type", Value::Array(Array::I32(vec![3, 1, 1, 1])));
    })
    .expect("a tokenizer");
    assert_eq!(tokenizer.encode("a  ", false, false), [3, 2]);
    // An added token with the same bytes comes before all merging, but is not what they end at.
    let tokenizer = small_bytes(|metadata| {
        metadata.insert("tokenizer.ggml.tokens", strings(&["aba", "a", "b", "ab"]));
        metadata.insert("tokenizer.ggml.merges", strings(&["a b", "ab a"]));
        metadata.insert("tokenizer.ggml.token_type", Value::Array(Array::I32(vec![4, 1, 1, 1])));
    })
    .expect("a tokenizer");
    assert_eq!(tokenizer.encode("abaab", false, false), [0, 3]);
    let tokenizer = small_bytes(|metadata| {
        metadata.insert("tokenizer.ggml.tokens", strings(&["   ", "Ġ", "ĠĠ", "ĠĠĠ", "ĠĠĠĠ"]));
        metadata.insert("tokenizer.ggml.merges", strings(&["Ġ Ġ", "ĠĠ Ġ", "ĠĠ ĠĠ"]));
        metadata.insert("tokenizer.ggml.token_type", Value::Array(Array::I32(vec![5, 1, 1, 1, 1])));
    })
    .expect("a tokenizer");
    assert_eq!(tokenizer.encode("   ", false, false), [3]);
}

#[test]
fn suppressed_ids_are_those_that_are_tokens() {
    let tokenizer = small(|metadata| {
        metadata.insert("tokenizer.ggml.suppress_tokens", Value::Array(Array::I32(vec![5, -1, 11, 10])));
    });
    assert_eq!(tokenizer.expect("a tokenizer").suppressed_ids(), [5, 10]);
    assert!(small(|_| ()).expect("a tokenizer").suppressed_ids().is_empty());
}

#[test]
fn phi_3_drops_white_space_behind_special_tokens() {
    let name = |name: &str| {
        small(|metadata| {
            metadata.insert("general.name", Value::String(name.into()));
            metadata.insert("tokenizer.ggml.add_space_prefix", Value::Bool(false));
        })
        .expect("a tokenizer")
    };
    assert_eq!(name("Phi-3 mini").encode("</s> \n ab<s> ab", false, true), [2, 7, 1, 8]);
    assert_eq!(name("Llama").encode("</s> ab", false, true), [2, 8]);
}

#[test]
fn merges_may_pass_through_pieces_that_are_no_tokens() {
    let tokenizer = small_bytes(|metadata| {
        metadata.insert("tokenizer.ggml.tokens", strings(&["a", "b", "c", "abc", "<|endoftext|>", "Ġ"]));
    })
    .expect("a tokenizer");
    assert_eq!(tokenizer.encode("abc", false, false), [3]);
    assert_eq!(tokenizer.encode("ab", false, false), [0, 1]);
    assert_eq!(tokenizer.encode("xa", false, false), [0], "bytes without a token are left out");
    assert_eq!(tokenizer.vocab_size(), 6);
}

#[test]
fn an_unknown_pre_tokenizer_is_refused_and_a_missing_one_noted() {
    for model in ["gpt2", "gemma4", "llama"] {
        let with = |pre: Option<&str>| {
            small_bytes(|metadata| {
                metadata.insert("tokenizer.ggml.model", Value::String(model.into()));
                metadata.insert("tokenizer.ggml.scores", Value::Array(Array::F32(vec![0.0; 6])));
                let pre = pre.map_or(Value::U32(u32::MAX), |pre| Value::String(pre.into()));
                metadata.insert("tokenizer.ggml.pre", pre);
            })
        };
        for name in ["no-such", "", "Qwen2", "qwen2 ", "whitespace"] {
            match (model, with(Some(name))) {
                ("gpt2", found) => {
                    let error = found.expect_err(name);
                    assert_eq!(error.code(), ErrorCode::UnsupportedArchitecture, "{error}");
                    assert!(error.message().contains(&format!("'{name}'")), "{error}");
                }
                // Other models have no pre-tokenizer, whatever the key says.
                (_, found) => assert!(found.expect(name).warnings().is_empty(), "{model} {name}"),
            }
        }
    }
    let metadata: Metadata = [
        ("tokenizer.ggml.model", Value::String("gpt2".into())),
        ("tokenizer.ggml.tokens", strings(&["a"])),
        ("tokenizer.ggml.merges", strings(&[])),
    ]
    .into_iter()
    .collect();
    let tokenizer = Tokenizer::from_metadata(&metadata).expect("a tokenizer");
    let warnings = tokenizer.warnings();
    assert!(warnings.len() == 1 && warnings[0].contains("tokenizer.ggml.pre is missing"), "{warnings:?}");
    let named = small_bytes(|metadata| drop(metadata.insert("tokenizer.ggml.pre", Value::String("default".into()))));
    assert!(named.expect("a tokenizer").warnings().is_empty());
}

/// A file may have a text at several ids: either one encodes it, each decodes to it.
#[test]
fn the_same_text_twice_is_no_fault() {
    let models = ["gpt2", "gemma4", "llama", "bert", "t5", "rwkv", "plamo2", "plamo3"];
    for (model, kinds) in
        models.iter().flat_map(|model| [[1, 1], [1, 4], [4, 4], [5, 1], [3, 1], [3, 3]].map(|k| (model, k)))
    {
        let bytes: Vec<String> = (0..=255).map(|byte| format!("<0x{byte:02X}>")).collect();
        let texts = ["<unk>", "ab", "a", "b", "c", "ab", "ab"];
        let tokens: Vec<&str> = texts.into_iter().chain(bytes.iter().map(String::as_str)).collect();
        let mut all = vec![1; tokens.len()];
        (all[0], all[5], all[6]) = (2, kinds[0], kinds[1]);
        all[texts.len()..].fill(6);
        let scores = tokens.iter().enumerate().map(|(id, _)| -(id as f32)).collect();
        let metadata: Metadata = [
            ("tokenizer.ggml.model", Value::String((*model).into())),
            ("tokenizer.ggml.pre", Value::String("gpt-2".into())),
            ("tokenizer.ggml.tokens", Value::Array(Array::Strings(tokens.iter().copied().collect()))),
            ("tokenizer.ggml.token_type", Value::Array(Array::I32(all))),
            ("tokenizer.ggml.scores", Value::Array(Array::F32(scores))),
            ("tokenizer.ggml.merges", strings(&["a b", "a b"])),
            ("tokenizer.ggml.unknown_token_id", Value::U32(0)),
            ("tokenizer.ggml.add_space_prefix", Value::Bool(false)),
        ]
        .into_iter()
        .collect();
        let tokenizer =
            Tokenizer::from_metadata(&metadata).unwrap_or_else(|error| panic!("{model} {kinds:?}: {error}"));
        let ids = tokenizer.encode("ab", false, false);
        // WordPiece has other tokens for the starts of words, but for added tokens.
        let first = if *model == "bert" { 0 } else { 1 };
        let expected = [first, 5, 6];
        assert!(ids.len() == 1 && expected.contains(&ids[0]), "{model} {kinds:?}: {ids:?}");
        for id in [1, 5, 6] {
            assert_eq!(tokenizer.decode(&[id], true), "ab", "{model} {kinds:?}: {id}");
        }
        assert_eq!(tokenizer.decode(&[1, 4, 1], true).replace(' ', ""), "abcab", "{model} {kinds:?}");
    }
}

/// As Qwen's own tokenizer does it: a text from a Mac's keyboard or file names has letters followed by marks.
#[test]
fn texts_are_composed_where_the_model_wants_it() {
    let with = |pre: &str| {
        small_bytes(|metadata| {
            // é is C3 A9, the mark alone CC 81.
            metadata.insert("tokenizer.ggml.tokens", strings(&["e", "Ã", "©", "Ã©", "Ì", "ģ", "<e\u{301}>"]));
            metadata.insert("tokenizer.ggml.merges", strings(&["Ã ©"]));
            metadata.insert("tokenizer.ggml.token_type", Value::Array(Array::I32(vec![1, 1, 1, 1, 1, 1, 3])));
            metadata.insert("tokenizer.ggml.pre", Value::String(pre.into()));
            metadata.insert("tokenizer.ggml.add_bos_token", Value::Bool(false));
        })
        .expect("a tokenizer")
    };
    for pre in ["qwen2", "qwen35", "command-r", "olmo", "mpt", "modern-bert", "deepseek-r1-qwen"] {
        let tokenizer = with(pre);
        assert_eq!(tokenizer.encode("e\u{301}é", false, false), [3, 3], "{pre}");
        assert_eq!(tokenizer.encode_inside("e\u{301}"), [3], "{pre}");
        assert_eq!(tokenizer.encode_prompt("e\u{301}<e\u{301}>e\u{301}"), [3, 6, 3], "{pre}: control tokens stay");
        assert_eq!(tokenizer.decode(&[0, 4, 5], true), "e\u{301}", "{pre}: what a model writes stays");
        assert_eq!(tokenizer.decode(&[6], true), "<e\u{301}>", "{pre}");
    }
    for pre in ["gpt-2", "llama-bpe", "smollm", "deepseek-v3", "tekken", "gpt-4o"] {
        assert_eq!(with(pre).encode("e\u{301}é", false, false), [0, 4, 5, 3], "{pre}");
    }
}

/// llama.cpp warns and goes on too.
#[test]
fn special_ids_past_the_last_token_are_ignored() {
    let ids = [("bos", 11), ("eos", 12), ("unknown", 13), ("padding", 14), ("eot", 1 << 40), ("eom", 15)];
    for (name, id) in ids {
        let key = format!("tokenizer.ggml.{name}_token_id");
        let tokenizer = small(|metadata| drop(metadata.insert(&key, Value::U64(id)))).expect("a tokenizer");
        let warned = tokenizer.warnings();
        let words = [&key[..], &id.to_string(), "11 tokens"];
        assert!(warned.len() == 1 && words.iter().all(|word| warned[0].contains(word)), "{key}: {warned:?}");
        // SentencePiece's defaults stand in.
        assert_eq!(tokenizer.encode("abA", true, false), [1, 8, 3], "{key}");
        assert_eq!((tokenizer.padding(), tokenizer.end_of_generation_ids()), (None, vec![2, 9]), "{key}");
    }
    let tokenizer = small_bytes(|metadata| {
        metadata.insert("tokenizer.ggml.bos_token_id", Value::U32(6));
        metadata.insert("tokenizer.ggml.add_bos_token", Value::Bool(true));
    })
    .expect("a tokenizer");
    assert_eq!((tokenizer.encode("a", true, false), tokenizer.adds_bos()), (vec![0], false));
    assert_eq!(tokenizer.warnings().len(), 1);
}

#[test]
fn a_file_may_have_a_template_for_tools() {
    let cases: [(&[(&str, &str)], _, _); 4] = [
        (&[("", "plain"), (".tool_use", "tools")], Some("plain"), Some("tools")),
        (&[("", "plain"), (".tool_use", " ")], Some("plain"), None),
        (&[(".default", "plain"), (".rag", "documents")], Some("plain"), None),
        (&[(".tool_use", "tools")], Some("tools"), Some("tools")),
    ];
    for (templates, plain, tools) in cases {
        let tokenizer = small_bytes(|metadata| {
            for (name, text) in templates {
                metadata.insert(format!("tokenizer.chat_template{name}"), Value::String((*text).into()));
            }
        })
        .expect("a tokenizer");
        assert_eq!((tokenizer.chat_template(), tokenizer.tool_template()), (plain, tools));
    }
}

#[test]
fn an_empty_chat_template_is_none() {
    for empty in ["", " \n"] {
        let tokenizer = small_bytes(|metadata| {
            metadata.insert("tokenizer.ggml.tokens", strings(&["a", "b", "c", "ab", "<|im_start|>", "Ġ"]));
            metadata.insert("tokenizer.ggml.token_type", Value::Array(Array::I32(vec![1, 1, 1, 1, 3, 1])));
            metadata.insert("tokenizer.chat_template", Value::String(empty.into()));
        })
        .expect("a tokenizer");
        assert_eq!(tokenizer.chat_template(), None);
        let chatml = tokenizer.conversation_template().expect("ChatML");
        assert!(chatml.contains("<|im_start|>assistant\n"), "{chatml}");
    }
}

/// Command R's vocabulary has emoji twice, as they are and in the byte alphabet. Merges arrive at the latter only.
#[test]
fn tokens_outside_the_byte_alphabet_are_not_merged_to() {
    let merged = |kind: i32| {
        let tokenizer = small_bytes(|metadata| {
            let tokens = ["\u{200d}", "â", "Ģ", "į", "âĢ", "âĢį", "a", "\u{203c}", "¼"];
            metadata.insert("tokenizer.ggml.tokens", strings(&tokens));
            metadata.insert("tokenizer.ggml.merges", strings(&["â Ģ", "âĢ į", "âĢ ¼"]));
            metadata
                .insert("tokenizer.ggml.token_type", Value::Array(Array::I32(vec![kind, 1, 1, 1, 1, 1, 1, kind, 1])));
        })
        .expect("a tokenizer");
        assert_eq!(tokenizer.decode(&[6, 0, 7], false), "a\u{200d}\u{203c}");
        tokenizer.encode("a\u{200d}a\u{203c}", false, false)
    };
    // Where the byte alphabet has no such token, the bytes stand alone.
    let (normal, unused, added) = (1, 5, 4);
    assert_eq!(merged(normal), [6, 5, 6, 1, 2, 8]);
    assert_eq!(merged(unused), [6, 5, 6, 1, 2, 8]);
    assert_eq!(merged(added), [6, 0, 6, 7], "added tokens are found in the text");
}

/// Gemma has runs of spaces as added tokens, spelled with spaces. A text of SentencePiece's sign for a space does not
/// become such a run: it is a text of single signs.
#[test]
fn added_runs_of_spaces_are_not_merged_to() {
    let tokenizer = small(|metadata| {
        metadata.insert("tokenizer.ggml.tokens", strings(&["<unk>", "<s>", "</s>", "▁", "a", "  ", "▁a"]));
        metadata.insert("tokenizer.ggml.token_type", Value::Array(Array::I32(vec![2, 3, 3, 1, 1, 4, 1])));
        metadata.insert("tokenizer.ggml.scores", Value::Array(Array::F32(vec![0.0; 7])));
        metadata.insert("tokenizer.ggml.add_space_prefix", Value::Bool(false));
    })
    .expect("a tokenizer");
    assert_eq!(tokenizer.encode("a  a", false, false), [4, 5, 4]);
    assert_eq!(tokenizer.encode("a▁▁ a", false, false), [4, 3, 3, 6]);
}

/// A search does not try every length: 4,000 lengths and texts that nearly are such tokens.
#[test]
fn thousands_of_added_tokens_are_found_quickly() {
    let added: Vec<String> = (1..4000).map(|n| format!("<{}>", "x".repeat(n))).collect();
    let tokens: Vec<String> =
        ["<unk>", "<s>", "</s>", "<", "x", ">"].map(String::from).into_iter().chain(added).collect();
    let mut kinds = vec![2, 3, 3, 1, 1, 1];
    kinds.resize(tokens.len(), 4);
    let tokenizer = small(|metadata| {
        metadata.insert("tokenizer.ggml.scores", Value::Array(Array::F32(vec![0.0; tokens.len()])));
        metadata.insert("tokenizer.ggml.token_type", Value::Array(Array::I32(kinds)));
        metadata.insert("tokenizer.ggml.tokens", Value::Array(Array::Strings(tokens.iter().collect())));
        metadata.insert("tokenizer.ggml.add_space_prefix", Value::Bool(false));
    })
    .expect("a tokenizer");
    let start = CpuClock::start();
    assert_eq!(tokenizer.encode("<xxx><x<xx>", false, false), [8, 3, 4, 7]);
    let near = "<x".repeat(100_000);
    assert_eq!(tokenizer.encode(&near, false, false).len(), 200_000);
    let long = format!("<{}", "x".repeat(3999)).repeat(50);
    assert_eq!(tokenizer.encode(&long, false, false).len(), 200_000);
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
}

#[test]
fn a_part_of_a_character_may_end_an_answer() {
    let tokenizer = small_bytes(|metadata| {
        metadata.insert("tokenizer.ggml.tokens", strings(&["a", "b", "c", "Ã", "<|endoftext|>", "Ġ", "ab", "©"]));
        metadata.insert("tokenizer.ggml.eos_token_id", Value::U32(3));
    })
    .expect("a tokenizer");
    assert_eq!(tokenizer.encode("aé", false, true), [0, 3, 7]);
    assert_eq!(tokenizer.end_of_generation_ids(), [3, 4]);
}

/// The metadata of a small WordPiece vocabulary, changed by `change`.
fn small_words(change: impl FnOnce(&mut Metadata)) -> Tokenizer {
    let tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁a", "b", "▁b", "▁'", "▁."];
    let mut metadata: Metadata = [
        ("tokenizer.ggml.model", Value::String("bert".into())),
        ("tokenizer.ggml.tokens", strings(&tokens)),
        ("tokenizer.ggml.token_type", Value::Array(Array::I32(vec![3, 2, 3, 3, 1, 1, 1, 1, 1]))),
        ("tokenizer.ggml.unknown_token_id", Value::U32(1)),
        ("tokenizer.ggml.cls_token_id", Value::U32(2)),
        ("tokenizer.ggml.seperator_token_id", Value::U32(3)),
    ]
    .into_iter()
    .collect();
    change(&mut metadata);
    Tokenizer::from_metadata(&metadata).expect("a tokenizer")
}

#[test]
fn bert_wraps_texts_and_pairs() {
    let tokenizer = small_words(|_| ());
    assert_eq!(tokenizer.encode("AB b", true, false), [2, 4, 5, 6, 3]);
    assert_eq!(tokenizer.encode("", true, false), [2, 3]);
    assert_eq!(tokenizer.encode("axb", false, false), [1]);
    let pair = tokenizer.encode_pair("a", "b [SEP]");
    assert_eq!((pair.ids, pair.second), (vec![2, 4, 3, 6, 1, 1, 1, 3], Some(3)));
    // Two separators, where the file asks for both.
    let tokenizer = small_words(|metadata| {
        metadata.insert("tokenizer.ggml.add_eos_token", Value::Bool(true));
        metadata.insert("tokenizer.ggml.add_sep_token", Value::Bool(true));
    });
    let pair = tokenizer.encode_pair("a", "b");
    assert_eq!((pair.ids, pair.second), (vec![2, 4, 3, 3, 6, 3], Some(4)));
    let tokenizer = small_words(|metadata| {
        metadata.insert("tokenizer.ggml.add_eos_token", Value::Bool(true));
        metadata.insert("tokenizer.ggml.add_sep_token", Value::Bool(false));
    });
    assert_eq!(tokenizer.encode_pair("a", "b").ids, [2, 4, 3, 6, 3]);
}

#[test]
fn a_file_may_have_a_prompt_for_pairs() {
    let tokenizer = small_words(|metadata| {
        let prompt = "{document} b {query}[SEP]";
        metadata.insert("tokenizer.chat_template.rerank", Value::String(prompt.into()));
    });
    let pair = tokenizer.encode_pair("a", "{query} .");
    assert_eq!((pair.ids, pair.second), (vec![1, 1, 1, 8, 6, 4, 3], None));
    // Control tokens that a document or a query has are text; those of the prompt are tokens.
    assert_eq!(tokenizer.encode_pair("a", "b [SEP]").ids, [6, 1, 1, 1, 6, 4, 3]);
    assert_eq!(tokenizer.encode_pair("[SEP]", "b").ids, [6, 6, 1, 1, 1, 3]);
    // The end of a document that is too long is cut; what follows it in the prompt stays.
    assert_eq!(tokenizer.encode_pair("a", "b b b b").ids, [6, 6, 6, 6, 6, 4, 3]);
    assert_eq!(tokenizer.encode_pair_within("a", "b b b b", 7), [6, 6, 6, 6, 6, 4, 3]);
    assert_eq!(tokenizer.encode_pair_within("a", "b b b b", 5), [6, 6, 6, 4, 3]);
    assert_eq!(tokenizer.encode_pair_within("a", &"b ".repeat(5000), 5), [6, 6, 6, 4, 3]);
    assert_eq!(tokenizer.encode_pair_within("a", "b b b b", 3), [6, 4, 3]);
    assert_eq!(tokenizer.encode_pair_within("a", "b b b b", 2), [6, 4, 3], "the query does not fit");
}

/// An apostrophe waits for the token behind it; the text is the same however it is cut.
#[test]
fn words_are_joined_as_english_text() {
    let tokenizer = small_words(|_| ());
    let text = |ids: &[u32]| {
        let mut stream = TextStream::new(true, false);
        let streamed: String = ids.iter().map(|&id| stream.push(&tokenizer, id)).collect();
        let text = tokenizer.decode(ids, true);
        assert_eq!(streamed + &stream.flush(), text);
        text
    };
    assert_eq!(text(&[4, 7, 6, 8]), "a'b.");
    assert_eq!(text(&[7, 4, 7]), "' a '");
    assert_eq!(text(&[4, 7, 8]), "a '.");
    assert_eq!(text(&[4, 7, 5]), "a 'b");
    assert_eq!(text(&[4, 7, 7, 7, 6]), "a'''b");
    assert_eq!(text(&[2, 4, 5, 3]), "[CLS] ab [SEP]");
    assert_eq!(tokenizer.decode(&[2, 4, 3, 6, 3], false), "a b");
}

/// What is wrong, how to make it so, and what the message must say.
type Wrong = (&'static str, Value, &'static [&'static str]);

#[test]
fn hostile_metadata_is_refused() {
    let list = |count: usize| Value::Array(Array::F32(vec![0.0; count]));
    let numbers = |count: usize| Value::Array(Array::I32(vec![1; count]));
    let cases: [Wrong; 11] = [
        ("tokenizer.ggml.tokens", strings(&[]), &["tokenizer.ggml.tokens", "empty"]),
        ("tokenizer.ggml.tokens", strings(&["a", "b"]), &["token_type", "11", "2"]),
        ("tokenizer.ggml.tokens", Value::U32(1), &["tokenizer.ggml.tokens", "u32"]),
        ("tokenizer.ggml.token_type", numbers(10), &["token_type", "10", "11"]),
        ("tokenizer.ggml.token_type", numbers(12), &["token_type", "12", "11"]),
        ("tokenizer.ggml.token_type", Value::Array(Array::I32(vec![6; 11])), &["token 0", "byte", "<unk>"]),
        ("tokenizer.ggml.scores", list(3), &["scores", "3", "11"]),
        ("tokenizer.ggml.scores", Value::Array(Array::F32(vec![f32::NAN; 11])), &["score", "token 0"]),
        ("tokenizer.ggml.scores", Value::Bool(true), &["tokenizer.ggml.scores", "bool"]),
        ("tokenizer.ggml.eos_token_id", Value::I32(-1), &["eos_token_id", "-1"]),
        ("tokenizer.chat_template", Value::U8(1), &["chat_template", "u8"]),
    ];
    for (key, value, words) in cases {
        let error = small(|metadata| drop(metadata.insert(key, value))).expect_err(key);
        assert_eq!(error.code(), ErrorCode::BadFile, "{error}");
        assert!(words.iter().all(|word| error.message().contains(word)), "{key}: {error}");
    }
    let cases: [Wrong; 6] = [
        ("tokenizer.ggml.merges", strings(&["a b", "ab"]), &["merge 1", "'ab'"]),
        ("tokenizer.ggml.merges", strings(&[" "]), &["merge 0"]),
        ("tokenizer.ggml.merges", strings(&["a "]), &["merge 0"]),
        ("tokenizer.ggml.merges", Value::Array(Array::Strings([&b"\xff b"[..]].iter().collect())), &["merge 0", "xff"]),
        (
            "tokenizer.ggml.tokens",
            Value::Array(Array::Strings([&b"a\xff"[..]].iter().collect())),
            &["token 0", "UTF-8"],
        ),
        ("tokenizer.ggml.add_bos_token", Value::Bool(true), &["add_bos_token", "bos_token_id", "missing"]),
    ];
    for (key, value, words) in cases {
        let error = small_bytes(|metadata| drop(metadata.insert(key, value))).expect_err(key);
        assert_eq!(error.code(), ErrorCode::BadFile, "{error}");
        assert!(words.iter().all(|word| error.message().contains(word)), "{key}: {error}");
    }
}

#[test]
fn missing_keys_and_other_models_are_refused() {
    let error = Tokenizer::from_metadata(&Metadata::new()).expect_err("nothing");
    assert!(
        error.code() == ErrorCode::BadFile && error.message().contains("tokenizer.ggml.model is missing"),
        "{error}"
    );
    for model in ["llama", "gpt2", "gemma4", "bert", "t5", "rwkv", "plamo2", "plamo3"] {
        let missing = "tokens";
        let metadata: Metadata = [("tokenizer.ggml.model", Value::String(model.into()))].into_iter().collect();
        let error = Tokenizer::from_metadata(&metadata).expect_err(model);
        assert!(error.message().contains(missing), "{error}");
    }
    let needed = [
        ("llama", "scores"),
        ("gpt2", "merges"),
        ("gemma4", "merges"),
        ("t5", "scores"),
        ("plamo2", "scores"),
        ("plamo3", "scores"),
    ];
    for (model, missing) in needed {
        let model = Value::String(model.into());
        let metadata = [("tokenizer.ggml.model", model), ("tokenizer.ggml.tokens", strings(&["a"]))];
        let error = Tokenizer::from_metadata(&metadata.into_iter().collect()).expect_err(missing);
        assert!(error.code() == ErrorCode::BadFile && error.message().contains(missing), "{error}");
    }
    for model in ["hybriddna", "none"] {
        let error = small(|metadata| drop(metadata.insert("tokenizer.ggml.model", Value::String(model.into()))))
            .expect_err("a model that is not implemented");
        assert_eq!(error.code(), ErrorCode::UnsupportedArchitecture);
        let words = [model, "bert", "gemma4", "gpt2", "llama", "plamo2", "plamo3", "rwkv", "t5"];
        assert!(words.iter().all(|word| error.message().contains(word)), "{error}");
    }
}

/// Nothing that a file may say makes loading, encoding or decoding panic.
mod any_metadata {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn token() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            8 => "[ab▁Ġ ]{0,3}".prop_map(String::into_bytes),
            2 => "<0x[0-9A-G]{2}>".prop_map(String::into_bytes),
            2 => r"[ab]?\\[xnt\\]?[0-9a-g]{0,2}".prop_map(String::into_bytes),
            1 => prop_oneof![Just("▁'"), Just("▁.")].prop_map(|token| token.as_bytes().to_vec()),
            1 => Just(b"<|im_end|>".to_vec()),
            1 => ".{0,4}".prop_map(String::into_bytes),
            1 => vec(any::<u8>(), 0..3),
        ]
    }

    /// A table whose trie is as long as it says, with units that lead from letter to letter more often than any would.
    fn charsmap_of(bytes: &[u8]) -> Vec<u8> {
        let units = (0..256_u32).map(|n| {
            let [low, high] =
                [0, 1].map(|at| u32::from(bytes.get((n as usize * 2 + at) % bytes.len().max(1)).copied().unwrap_or(0)));
            (low ^ n) << 10 | u32::from(high > 128) << 8 | if high % 3 == 0 { n } else { high }
        });
        let trie: Vec<u8> = units.flat_map(u32::to_le_bytes).collect();
        [&1024_u32.to_le_bytes()[..], &trie, "aé\0\0b \0🦙\0".as_bytes()].concat()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn never_panics(
            model in prop_oneof![
                Just("gpt2"), Just("llama"), Just("gemma4"), Just("bert"), Just("t5"), Just("rwkv"), Just("plamo2"),
                Just("plamo3")
            ],
            charsmap in vec(any::<u8>(), 0..60),
            flags in vec(any::<bool>(), 2),
            pre in prop_oneof![Just("default"), Just("llama-bpe"), Just("tekken"), Just("deepseek-v3"), Just("?")],
            tokens in vec(token(), 0..12),
            kinds in vec(-1..8_i32, 0..12),
            merges in vec("[ab▁Ġ]{0,2} [ab▁Ġ]{0,2}", 0..8),
            ids in vec(0..14_u32, 3),
            text in "[ab▁ \n<>|é🦙'.]{0,40}",
        ) {
            let mut tokens = tokens;
            let mut kinds: Vec<i32> = kinds.into_iter().cycle().take(tokens.len()).collect();
            if model.starts_with("plamo") {
                // Without a token for each byte it is refused.
                tokens.extend((0..256).map(|byte| format!("<0x{byte:02X}>").into_bytes()));
                kinds.resize(tokens.len(), 6);
            }
            let count = tokens.len();
            let scores = (0..count).map(|id| (id * 7 % 5) as f32).collect();
            let metadata: Metadata = [
                ("tokenizer.ggml.model", Value::String(model.into())),
                ("tokenizer.ggml.pre", Value::String(pre.into())),
                ("tokenizer.ggml.tokens", Value::Array(Array::Strings(tokens.iter().collect()))),
                ("tokenizer.ggml.token_type", Value::Array(Array::I32(kinds))),
                ("tokenizer.ggml.scores", Value::Array(Array::F32(scores))),
                ("tokenizer.ggml.merges", Value::Array(Array::Strings(merges.iter().collect()))),
                ("tokenizer.ggml.precompiled_charsmap", Value::Array(Array::U8(charsmap_of(&charsmap)))),
                ("tokenizer.ggml.add_space_prefix", Value::Bool(flags[0])),
                ("tokenizer.ggml.remove_extra_whitespaces", Value::Bool(flags[1])),
                ("tokenizer.ggml.eos_token_id", Value::U32(ids[0])),
                ("tokenizer.ggml.bos_token_id", Value::U32(ids[1])),
                ("tokenizer.ggml.eom_token_id", Value::U32(ids[2])),
            ].into_iter().collect();
            if let Ok(tokenizer) = Tokenizer::from_metadata(&metadata) {
                for (special, parse) in [(true, true), (false, false)] {
                    let ids = tokenizer.encode(&text, special, parse);
                    prop_assert!(ids.iter().all(|&id| (id as usize) < tokenizer.vocab_size()));
                    let mut stream = TextStream::new(special, false);
                    let streamed: String = ids.iter().map(|&id| stream.push(&tokenizer, id)).collect();
                    prop_assert_eq!(streamed + &stream.flush(), tokenizer.decode(&ids, special));
                }
                tokenizer.decode(&(0..20).collect::<Vec<_>>(), true);
            }
        }
    }
}

/// A vocabulary with control tokens `<|a|>`, `|a`, an added token `<t>` and what is needed for the rest.
fn with_controls() -> Tokenizer {
    let names = ["<|a|>", "|a", "<t>", "<|tool|>", "<|im_end|>"];
    let letters = "<|a>tolime_nd".chars().map(String::from);
    let tokens: Vec<String> = names.iter().map(|name| (*name).to_owned()).chain(letters).collect();
    let kinds: Vec<i32> = (0..tokens.len())
        .map(|id| {
            if id == 2 || id == 4 {
                4
            } else if id < 4 {
                3
            } else {
                1
            }
        })
        .collect();
    small_bytes(|metadata| {
        let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
        metadata.insert("tokenizer.ggml.tokens", strings(&tokens));
        metadata.insert("tokenizer.ggml.token_type", Value::Array(Array::I32(kinds.clone())));
        metadata.insert("tokenizer.ggml.merges", strings(&[]));
    })
    .expect("a tokenizer")
}

#[test]
fn control_tokens_in_protected_texts_are_text() {
    let tokenizer = with_controls();
    let ids = |text: &str| tokenizer.encode_prompt(text);
    for text in ["<|a|>", "a<|a|>", "<|a", "<<|a|>|>", "<|im_end|>", "|a<|a|>|a"] {
        let protected = tokenizer.protect(text, |_| false);
        let expected: Vec<u32> = text.chars().flat_map(|c| tokenizer.encode_inside(&c.to_string())).collect();
        assert_eq!(ids(&protected), expected, "{text}");
        assert_ne!(ids(text), expected, "{text}");
        assert_eq!(protected.replace('\u{FDD1}', ""), text);
    }
    // Around them the prompt's own stay tokens, added tokens too, and so do those that are kept.
    assert_eq!(ids(&format!("<|a|>{}<|a|>", tokenizer.protect("<t>", |_| false))), [0, 2, 0]);
    assert_eq!(ids(&tokenizer.protect("<|tool|>", |name| name == "<|tool|>")), [3]);
    // A mark in the text itself protects nothing, and is no text.
    assert_eq!(ids(&tokenizer.protect("<\u{FDD1}|a|>", |_| false)).len(), 5);
    assert_eq!(tokenizer.encode("\u{FDD1}", false, false), tokenizer.encode_inside("\u{FDD1}"));
}

/// Two control tokens that begin alike, and a text that goes on like both: a search that followed them from each place
/// would take steps by the square of their length.
#[test]
fn long_special_tokens_are_text() {
    let long = "a".repeat(20_000);
    let tokenizer = small_bytes(|metadata| {
        let [b, c] = ["b", "c"].map(|end| format!("{long}{end}"));
        metadata.insert("tokenizer.ggml.tokens", strings(&["a", "b", "c", &b, &c, "<|x|>"]));
        metadata.insert("tokenizer.ggml.token_type", Value::Array(Array::I32(vec![1, 1, 1, 3, 3, 3])));
        metadata.insert("tokenizer.ggml.merges", strings(&[]));
    })
    .expect("a tokenizer");
    let ids = tokenizer.encode(&format!("{long}b<|x|>"), false, true);
    assert_eq!((ids.len(), ids[20_000], ids[20_001]), (20_002, 1, 5));
}
