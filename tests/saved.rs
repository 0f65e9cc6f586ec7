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
use webgguf::runtime::{AnySession, CpuSession, Engine, Fits, GenerateOptions, Head, START};
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
    let source = InputSource { digest: 0xfedc_ba98_7654_3210, count: 3, columns: 2 };
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
    assert_eq!(code(read(&forged(8, 2_u32.to_le_bytes()), CONTEXT)), "bad_file", "another format");
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

fn save(engine: &mut Engine) -> Vec<u8> {
    let head = count_yields(engine.save_head("notes".into(), None)).0.expect("an idle engine");
    assert_eq!(count_yields(engine.read_part(0)).0.expect("an idle engine"), None, "no caches");
    head
}

fn restore(engine: &Engine, file: &[u8]) -> Result<(Engine, String)> {
    let size = file.len() as u64;
    let [head, tokens] = engine.check_saved(&file[..START], size)?;
    assert_eq!((u64::from(head), tokens > 0), (size, true));
    let mut made = count_yields(engine.another(false)).0?;
    let (notes, part) = count_yields(made.restore_head(file, size)).0?;
    assert_eq!(part, 0, "no caches");
    Ok((made, notes))
}

#[test]
fn on_the_cpu_tokens_are_saved_and_read_again() {
    let mut first = engine("llama-q8_0", 64);
    let prompt: Vec<u32> = (5..30).collect();
    let answer = generate(&mut first, &prompt);
    let file = save(&mut first);
    assert!(file.len() < 400, "{} bytes", file.len());
    let (mut restored, notes) = restore(&engine("llama-q8_0", 64), &file).expect("the same model");
    assert_eq!(notes, "notes");
    let longer = [&prompt[..], &answer, &[3, 4]].concat();
    assert_eq!(generate(&mut restored, &longer), generate(&mut first, &longer));
    let refused = |engine: Engine| restore(&engine, &file).err().map(|error: Error| error.code().as_str());
    assert_eq!(refused(engine("llama-q8_0", 16)), Some("context_full"));
    assert_eq!(refused(engine("llama-q5_0", 64)), Some("invalid_argument"));
    first.start(prompt, options(), 0.0).expect("a good prompt");
    assert!(count_yields(first.save_head(String::new(), None)).0.is_err(), "a run is on");
}
