//! Saved sessions on the host: what a head is checked for, hostile bytes, and the CPU path.
#![cfg(not(target_arch = "wasm32"))]

mod common {
    #[allow(dead_code, reason = "each test uses its part")]
    pub mod yielding;
}

use common::yielding::count_yields;
use proptest::prelude::*;
use webgguf::cpu::{CacheFormat, CpuModel};
use webgguf::gguf::{Gguf, HeaderReader};
use webgguf::model::{InputSource, Item, match_tensors};
use webgguf::runtime::{AnySession, CpuSession, Engine, Fits, GenerateOptions, Head, START, Session};
use webgguf::tokenizer::Tokenizer;
use webgguf::{Error, Result};

const CONTEXT: usize = 128;
const VOCAB: usize = 100;
const MODEL: u64 = 0x1234_5678_9abc_def0;

fn head() -> Head {
    Head {
        model: MODEL,
        layout: 5,
        parts: 0,
        written: 12,
        tokens: (0..10).collect(),
        copies: vec![4, 10],
        sources: Vec::new(),
        notes: "{\"messages\":[\"Größe\"]}".into(),
    }
}

/// Reads the head at a file's start.
fn read(file: &[u8], context: usize) -> Result<Head> {
    Head::read(file, &Fits { size: file.len() as u64, model: MODEL, context, vocab: VOCAB })
}

fn code(outcome: Result<Head>) -> &'static str {
    outcome.expect_err("refused").code().as_str()
}

/// The head's bytes with four others at `at`, and a digest that is right.
fn forged(at: usize, bytes: [u8; 4]) -> Vec<u8> {
    let mut file = head().bytes().expect("a short head");
    let end = file.len() - 8;
    file[at..at + 4].copy_from_slice(&bytes);
    let fnv = |digest: u64, &byte: &u8| (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let digest = file[..end].iter().fold(0xcbf2_9ce4_8422_2325, fnv);
    file[end..].copy_from_slice(&digest.to_le_bytes());
    file
}

#[test]
fn rows_are_saved_with_their_sources() {
    let source = InputSource { digest: 0xfedc_ba98_7654_3210, count: 3, columns: 2, canvas: 0 };
    let first = u32::from(Item::Row(40));
    let tokens = vec![5, first + 1, first + 2, 6];
    let head = Head { tokens, written: 4, copies: vec![4], sources: vec![(source, first)], ..head() };
    let file = head.bytes().expect("a short head");
    assert_eq!(read(&file, CONTEXT), Ok(head.clone()));
    let bare = Head { copies: Vec::new(), ..head };
    let of = |count: u32, first: u32| vec![(InputSource { count, ..source }, first)];
    let strange = [
        ("no row of the source", Head { tokens: vec![5, first + 3], ..bare.clone() }),
        ("a source without rows in the text", Head { tokens: vec![5, 6], ..bare.clone() }),
        ("more rows than a model has ids for", Head { sources: of(1 << 25, first), ..bare.clone() }),
        ("rows with the ids of tokens", Head { tokens: vec![5, 120], sources: of(3, 119), ..bare }),
    ];
    for (what, head) in strange {
        assert_eq!(code(read(&head.bytes().expect("a short head"), CONTEXT)), "bad_file", "{what}");
    }
}

#[test]
fn a_head_comes_back_as_it_was() {
    let file = head().bytes().expect("a short head");
    assert_eq!(read(&file, CONTEXT), Ok(head()));
    assert_eq!(forged(0, *b"wggu"), file, "the digest of this test is the one that is written");
    let empty = Head { model: MODEL, ..Head::default() };
    assert_eq!(read(&empty.bytes().expect("a short head"), CONTEXT), Ok(empty));
}

#[test]
fn what_does_not_fit_is_named() {
    let file = head().bytes().expect("a short head");
    assert_eq!(code(read(&file, 9)), "context_full");
    let error = read(&Head { model: 1, ..head() }.bytes().expect("a short head"), CONTEXT).expect_err("another model");
    assert_eq!(error.code().as_str(), "invalid_argument");
    assert!(error.message().contains("0000000000000001, here 123456789abcdef0"), "{error}");
    assert_eq!(code(read(b"", CONTEXT)), "bad_file");
    assert_eq!(code(read(&[b'G'; 500], CONTEXT)), "bad_file");
    assert_eq!(code(read(&forged(8, 1_u32.to_le_bytes()), CONTEXT)), "bad_file", "another format");
    // tokens, copies, notes
    for at in [16, 20, 24] {
        assert_eq!(code(read(&forged(at, u32::MAX.to_le_bytes()), CONTEXT)), "bad_file", "a length at {at}");
    }
    assert_eq!(code(read(&forged(12, 9_u32.to_le_bytes()), CONTEXT)), "bad_file", "less written than cached");
    // A longer context wrote more, before the session went back.
    let written = read(&forged(12, (CONTEXT as u32 + 1).to_le_bytes()), CONTEXT).map(|head| head.written);
    assert_eq!(written, Ok(CONTEXT as u32 + 1));
    assert_eq!(code(read(&forged(56, (VOCAB as u32).to_le_bytes()), CONTEXT)), "bad_file", "an unknown id");
    assert_eq!(code(read(&forged(96, 11_u32.to_le_bytes()), CONTEXT)), "bad_file", "a copy past the tokens");
    assert_eq!(code(read(&forged(104, [0xff; 4]), CONTEXT)), "integrity_failed", "no UTF-8");
}

proptest! {
    #[test]
    fn changed_and_cut_heads_are_refused(at in 0..200_usize, flip in 1..=255_u8, cut in 0..200_usize) {
        let file = head().bytes().expect("a short head");
        let mut changed = file.clone();
        let at = at % file.len();
        changed[at] ^= flip;
        let refused = code(read(&changed, CONTEXT));
        prop_assert!(["bad_file", "integrity_failed", "invalid_argument", "context_full"].contains(&refused));
        prop_assert_eq!(code(read(&file[..cut % file.len()], CONTEXT)), "bad_file");
    }

    #[test]
    fn no_bytes_are_trusted(mut bytes in prop::collection::vec(any::<u8>(), 0..300), like in any::<bool>()) {
        if like {
            let known = [&b"wggufses\x01\0\0\0"[..], &[0; 20], &MODEL.to_le_bytes()].concat();
            let count = known.len().min(bytes.len());
            bytes[..count].copy_from_slice(&known[..count]);
        }
        prop_assert!(read(&bytes, CONTEXT).is_err());
    }
}

fn header(file: &[u8]) -> Gguf {
    let mut reader = HeaderReader::new(Some(file.len() as u64));
    reader.push(file).expect("a good header").expect("the whole header")
}

fn engine(name: &str, context: usize) -> Engine {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/models/");
    let file = std::fs::read(format!("{folder}{name}.gguf")).expect("a file");
    let gguf = header(&file);
    let config = webgguf::model::config(&gguf).expect("good settings");
    let mut builder = CpuModel::builder(config.clone());
    for (index, spec) in match_tensors(&config, &gguf.tensors).expect("all tensors") {
        let tensor = &gguf.tensors[index];
        let bytes = file[tensor.offset as usize..tensor.end() as usize].to_vec();
        builder.put(&spec, tensor.ty, bytes).expect("bytes that fit");
    }
    let model = builder.build(context, CacheFormat::F16).expect("a whole model");
    let tokenizer = Tokenizer::from_metadata(&gguf.metadata).expect("a vocabulary");
    Engine::new(AnySession::Cpu(Box::new(CpuSession::new(model))), tokenizer)
}

fn options() -> GenerateOptions {
    GenerateOptions { max_tokens: Some(6), ignore_eos: true, ..GenerateOptions::default() }
}

fn generate(engine: &mut Engine, prompt: &[u32]) -> Vec<u32> {
    engine.start(prompt.to_vec(), options(), 0.0).expect("a good prompt");
    while count_yields(engine.next(|| 0.0)).0.expect("a good model").is_some() {}
    engine.finish().expect("a run").ids
}

/// The head, and the parts behind it.
fn save(engine: &mut Engine) -> Vec<u8> {
    let mut file = count_yields(engine.save_head("notes".into(), None)).0.expect("an idle engine");
    for number in 0.. {
        let Some(part) = count_yields(engine.read_part(number)).0.expect("an idle engine") else { break };
        file.extend(part);
    }
    file
}

fn restore(engine: &Engine, file: &[u8]) -> Result<(Engine, String)> {
    let size = file.len() as u64;
    let [head, tokens] = engine.check_saved(&file[..START], size)?;
    assert!(tokens > 0);
    let (head, parts) = file.split_at(head as usize);
    let mut made = count_yields(engine.another(false)).0?;
    let (notes, part) = count_yields(made.restore_head(head, size)).0?;
    for (number, bytes) in parts.chunks(part.max(1) as usize).enumerate().take_while(|_| part > 0) {
        count_yields(made.write_part(number as u32, bytes)).0?;
    }
    Ok((made, notes))
}

fn refused(engine: &Engine, file: &[u8]) -> Option<&'static str> {
    restore(engine, file).err().map(|error: Error| error.code().as_str())
}

/// Saves a conversation, and goes on with it in a model that is loaded anew.
fn goes_on(name: &str, least: usize) -> Vec<u8> {
    let mut first = engine(name, 256);
    let prompt: Vec<u32> = (5..95).collect();
    let answer = generate(&mut first, &prompt);
    let file = save(&mut first);
    let fresh = engine(name, 256);
    let (mut restored, notes) = restore(&fresh, &file).expect("the same model");
    assert_eq!(notes, "notes", "{name}");
    let longer = [&prompt[..], &answer, &[3, 4]].concat();
    let cached = restored.start(longer.clone(), options(), 0.0).expect("a good prompt");
    assert!(cached >= least, "{name}: {cached} of {} are cached", longer.len());
    while count_yields(restored.next(|| 0.0)).0.expect("a good model").is_some() {}
    let mut plain = engine(name, 256);
    assert_eq!(restored.finish().expect("a run").ids, generate(&mut plain, &longer), "{name}");
    file
}

#[test]
fn on_the_cpu_a_session_goes_on_without_reading_again() {
    let file = goes_on("llama-q8_0", 95);
    assert!(file.len() > 95 * 64, "{} bytes", file.len());
    assert_eq!(refused(&engine("llama-q8_0", 16), &file), Some("context_full"));
    assert_eq!(refused(&engine("llama-q5_0", 256), &file), Some("invalid_argument"));
    for name in ["gemma3-f16", "qwen2vl-f16"] {
        goes_on(name, 95);
    }
    for name in ["qwen35-q8_0", "lfm2-q8_0"] {
        goes_on(name, 89);
    }
    let mut first = engine("llama-q8_0", 256);
    first.start(vec![5, 6], options(), 0.0).expect("a good prompt");
    assert!(count_yields(first.save_head(String::new(), None)).0.is_err(), "a run is on");
}

#[test]
fn on_the_cpu_changed_and_foreign_caches_are_not_taken() {
    let file = goes_on("qwen35-q8_0", 89);
    let fresh = engine("qwen35-q8_0", 256);
    let mut changed = file.clone();
    changed[file.len() / 2] ^= 1;
    assert_eq!(refused(&fresh, &changed), Some("integrity_failed"));
    assert_eq!(refused(&fresh, &file[..file.len() - 1]), Some("bad_file"));
    // Another layout: the text is read again.
    let (mut other, _) = restore(&engine("qwen35-q8_0", 512), &file).expect("the same model");
    assert_eq!(other.start((5..95).collect(), options(), 0.0), Ok(0));
    // Caches of more tokens than the head names, with digests that are right.
    let fits = Fits { size: file.len() as u64, model: fresh.session.config().digest, context: 256, vocab: 1 << 20 };
    let [end, _] = fresh.check_saved(&file[..START], fits.size).expect("a good file");
    let head = Head::read(&file[..end as usize], &fits).expect("a good head");
    let parts = head.parts as usize;
    let forged = Head { tokens: head.tokens[..94].to_vec(), copies: vec![89], ..head }.bytes().expect("a short head");
    assert_eq!(refused(&fresh, &[forged, vec![0; parts]].concat()), Some("bad_file"));
}
