//! A million hostile headers: no panic, no memory beyond what the bytes received can pay for, and every header that is
//! accepted keeps its promises.
//!
//! Cases come from a fixed seed. `WEBGGUF_FUZZ_SEED` sets another one, `WEBGGUF_FUZZ_CASES` another number of cases.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/gguf_writer.rs"]
mod gguf_writer;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;

use gguf_writer::{GgufWriter, array_bytes, string};
use webgguf::gguf::{Array, GgmlType, Gguf, HeaderReader, Strings, Value};
use webgguf::{Error, ErrorCode};

// Memory

/// Counts the bytes that this thread holds.
struct Counting;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // Threads that are ending have no counters left; nothing is measured there.
    let _ = LIVE.try_with(|live| {
        live.set(live.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
    });
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // While bytes move, old and new are both there.
        count(size as isize);
        count(-(layout.size() as isize));
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs `work`, and gives the most memory that it held at once.
fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.get();
    PEAK.set(before);
    let result = work();
    (result, (PEAK.get() - before) as usize)
}

// Chance

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone)]
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())].clone()
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most + 1)).map(|_| self.next() as u8).collect()
    }

    /// A number that hurts.
    fn evil(&mut self) -> u64 {
        const EVIL: [u64; 22] = [
            0,
            1,
            2,
            3,
            4,
            5,
            8,
            31,
            32,
            33,
            64,
            65,
            255,
            256,
            65_535,
            65_536,
            1 << 30,
            1 << 31,
            1 << 32,
            1 << 62,
            1 << 63,
            u64::MAX,
        ];
        let base = self.pick(&EVIL);
        match self.below(4) {
            0 => base.wrapping_sub(self.below(40) as u64),
            1 => base.wrapping_add(self.below(40) as u64),
            _ => base,
        }
    }
}

// Right headers to start from

fn random_array(chance: &mut Chance, depth: usize) -> Array {
    let n = chance.below(6);
    match chance.below(if depth < 4 { 9 } else { 8 }) {
        0 => Array::U8(chance.bytes(9)),
        1 => Array::I32((0..n).map(|_| chance.next() as i32).collect()),
        2 => Array::F32((0..n).map(|i| i as f32).collect()),
        3 => Array::Bool((0..n).map(|_| chance.one_in(2)).collect()),
        4 => Array::U64((0..n).map(|_| chance.evil()).collect()),
        5 => Array::I16((0..n).map(|_| chance.next() as i16).collect()),
        6 | 7 => Array::Strings((0..n).map(|_| chance.bytes(12)).collect::<Strings>()),
        _ => Array::Arrays((0..n).map(|_| random_array(chance, depth + 1)).collect()),
    }
}

fn random_value(chance: &mut Chance) -> Value {
    match chance.below(10) {
        0 => Value::U8(chance.next() as u8),
        1 => Value::I64(chance.next() as i64),
        2 => Value::U32(chance.evil() as u32),
        3 => Value::F32(0.5),
        4 => Value::Bool(chance.one_in(2)),
        5 => Value::U16(chance.below(4) as u16),
        6 => Value::String("llama".repeat(chance.below(5))),
        _ => Value::Array(random_array(chance, 1)),
    }
}

fn random_writer(chance: &mut Chance) -> GgufWriter {
    const KEYS: [&str; 6] = ["general.architecture", "split.no", "split.count", "split.tensors.count", "", "schlüssel"];
    let mut writer = GgufWriter { version: 2 + chance.below(2) as u32, ..GgufWriter::new() };
    if chance.one_in(3) {
        writer = writer.aligned(8 << chance.below(5));
    }
    for known in &KEYS[..chance.below(KEYS.len())] {
        let key = if chance.one_in(3) { known.to_string() } else { format!("key.{}", writer.pairs.len()) };
        let value = random_value(chance);
        writer = writer.pair(&key, value);
    }
    for i in 0..chance.below(5) {
        let ty = chance.pick(&GgmlType::ALL);
        let mut dims = vec![ty.block_len() as u64 * (1 + chance.below(2) as u64)];
        dims.extend((0..chance.below(3)).map(|_| 1 + chance.below(2) as u64));
        writer = writer.zeros(&format!("blk.{i}.weight"), ty, &dims);
    }
    writer
}

// Ways to go wrong

/// A pair whose type, lengths or counts lie.
fn lying_pair(chance: &mut Chance) -> Vec<u8> {
    let key = [(3 + chance.below(2) as u64).to_le_bytes().to_vec(), b"key".to_vec()].concat();
    let kind = (chance.below(15) as u32).to_le_bytes();
    let mut value = match chance.below(4) {
        0 => array_bytes(&random_array(chance, 1)),
        1 => string(&chance.bytes(10)),
        2 => [&9u32.to_le_bytes()[..], &1u64.to_le_bytes()].concat().repeat(chance.below(12)),
        _ => [&(chance.below(14) as u32).to_le_bytes()[..], &chance.evil().to_le_bytes()].concat(),
    };
    value.extend(chance.bytes(6));
    [&key[..], &kind, &value].concat()
}

/// Changes one field of the file's structure.
fn lie(writer: &mut GgufWriter, chance: &mut Chance) {
    let pair = chance.below(writer.pairs.len());
    let tensor = chance.below(writer.tensors.len());
    match chance.below(12) {
        0 => writer.pair_count = Some(chance.evil()),
        1 => writer.tensor_count = Some(chance.evil()),
        2 => writer.version = chance.evil() as u32,
        3 => writer.pairs.push(lying_pair(chance)),
        4 if !writer.pairs.is_empty() => writer.pairs[pair] = lying_pair(chance),
        5 if !writer.pairs.is_empty() => writer.pairs.push(writer.pairs[pair].clone()),
        _ if writer.tensors.is_empty() => writer.pairs.push(lying_pair(chance)),
        6 => writer.tensors.push(writer.tensors[tensor].clone()),
        7 => writer.tensors[tensor].offset = Some(chance.evil()),
        8 => writer.tensors[tensor].type_id = chance.below(45) as u32,
        9 => writer.tensors[tensor].dims = (0..chance.below(7)).map(|_| chance.evil()).collect(),
        10 => writer.tensors[tensor].name = "n".repeat(chance.below(80)),
        _ => {
            let dims = &mut writer.tensors[tensor].dims;
            let dim = chance.below(dims.len());
            dims.get_mut(dim).into_iter().for_each(|dim| *dim = chance.evil());
        }
    }
}

/// Changes bytes without regard to what they mean.
fn scribble(bytes: &mut Vec<u8>, other: &[u8], chance: &mut Chance) {
    let at = chance.below(bytes.len());
    match chance.below(7) {
        0 => bytes.truncate(at),
        1 if !bytes.is_empty() => bytes[at] ^= 1 << chance.below(8),
        2 => {
            let evil = chance.evil().to_le_bytes();
            let end = bytes.len().min(at + chance.pick(&[4, 8]));
            let len = end - at;
            bytes[at..end].copy_from_slice(&evil[..len]);
        }
        3 => {
            let end = bytes.len().min(at + chance.below(16));
            bytes.drain(at..end);
        }
        4 => {
            let extra = chance.bytes(16);
            bytes.splice(at..at, extra);
        }
        5 => {
            bytes.truncate(at);
            bytes.extend(&other[chance.below(other.len())..]);
        }
        _ => {
            bytes.truncate(24);
            bytes.extend(chance.bytes(200));
        }
    }
}

fn random_file(corpus: &[GgufWriter], chance: &mut Chance) -> Vec<u8> {
    if chance.one_in(50) {
        return chance.bytes(100);
    }
    let mut writer = chance.pick(corpus);
    for _ in 0..chance.below(3) {
        lie(&mut writer, chance);
    }
    let mut bytes = writer.build();
    if chance.one_in(2) {
        let other = if chance.one_in(8) { chance.pick(corpus).build() } else { bytes.clone() };
        for _ in 0..=chance.below(3) {
            scribble(&mut bytes, &other, chance);
        }
    }
    bytes
}

// The checks

/// How a file is read: in which pieces, told which size, whole or up to the vocabulary.
struct PassKind {
    piece: usize,
    size: Option<u64>,
    vocabulary_only: bool,
}

fn read(bytes: &[u8], way: &PassKind) -> Result<Gguf, Error> {
    let mut reader = HeaderReader::new(way.size);
    if way.vocabulary_only {
        reader = reader.vocabulary_only();
    }
    for piece in bytes.chunks(way.piece) {
        if let Some(gguf) = reader.push(piece)? {
            return Ok(gguf);
        }
    }
    Err(reader.finish())
}

fn check_promises(gguf: &Gguf, way: &PassKind) {
    assert!(matches!(gguf.version, 2 | 3));
    assert!(gguf.alignment >= 8 && gguf.alignment.is_power_of_two());
    if way.vocabulary_only {
        assert!(gguf.tensors.is_empty());
        return;
    }
    assert_eq!(gguf.header_bytes % gguf.alignment, 0);
    let mut free = gguf.header_bytes;
    for tensor in &gguf.tensors {
        assert!(tensor.offset >= free && (tensor.offset - gguf.header_bytes).is_multiple_of(gguf.alignment));
        assert!((1..=4).contains(&tensor.dims.len()) && !tensor.dims.contains(&0));
        let blocks = tensor.elements() / tensor.ty.block_len() as u64;
        assert_eq!(u128::from(blocks) * tensor.ty.block_bytes() as u128, u128::from(tensor.bytes));
        free = tensor.end();
    }
    assert!(gguf.tensors.is_empty() || way.size.is_none_or(|size| free <= size));
    let _ = Gguf::join(vec![gguf.clone()]);
}

/// Reads one file in two ways that must agree, and within the memory that its bytes pay for.
fn check(bytes: &[u8], chance: &mut Chance) -> Result<Gguf, Error> {
    let len = bytes.len() as u64;
    let size = match chance.below(6) {
        0 | 1 => None,
        2 => Some(len + (1 << 40)),
        3 => Some(len.saturating_sub(chance.below(40) as u64)),
        _ => Some(len),
    };
    let piece = chance.pick(&[1, 2, 5, 8, 16, 33, 100, usize::MAX]);
    let way = PassKind { piece, size, vocabulary_only: chance.one_in(8) };
    let (outcome, peak) = peak_of(|| read(bytes, &way));
    let most = 64 * bytes.len() + (16 << 10);
    assert!(peak <= most, "{peak} bytes held for a header of {len} bytes");
    let again = read(bytes, &PassKind { piece: chance.pick(&[3, 40, 1000]), ..way });
    match (&outcome, &again) {
        // A NaN in the metadata is not equal to itself.
        (Ok(a), Ok(b)) => assert!(a.tensors == b.tensors && a.header_bytes == b.header_bytes),
        _ => assert_eq!(outcome.as_ref().err(), again.as_ref().err()),
    }
    match &outcome {
        Ok(gguf) => check_promises(gguf, &way),
        Err(error) => assert!(matches!(error.code(), ErrorCode::BadFile | ErrorCode::UnsupportedQuant), "{error}"),
    }
    outcome
}

fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

/// A message without its numbers, names and places: the kind of error.
fn kind(error: &Error) -> String {
    let words = error.message().split(['`', '"']).step_by(2).collect::<Vec<_>>().join("_");
    let words = words.split(' ').filter(|word| !word.contains(|c: char| c.is_ascii_digit() || c == '['));
    words.collect::<Vec<_>>().join(" ").replace(", element of", "").replace("of: ", "")
}

fn fuzz(seed: u64, cases: u64) -> (u64, BTreeMap<String, u64>) {
    let mut chance = Chance(seed);
    let corpus: Vec<GgufWriter> = (0..300).map(|_| random_writer(&mut chance)).collect();
    let mut accepted = 0;
    let mut kinds = BTreeMap::new();
    for case in 0..cases {
        let case_seed = chance.next();
        let mut chance = Chance(case_seed);
        let bytes = random_file(&corpus, &mut chance);
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&bytes, &mut chance)));
        match caught {
            Ok(Ok(_)) => accepted += 1,
            // The kinds are words: a sample of the cases shows them all.
            Ok(Err(error)) if case.is_multiple_of(16) => *kinds.entry(kind(&error)).or_insert(0) += 1,
            Ok(Err(_)) => {}
            Err(panic) => {
                eprintln!("seed {seed}, case {case}: \"{}\"", bytes.escape_ascii());
                std::panic::resume_unwind(panic);
            }
        }
    }
    (accepted, kinds)
}

#[test]
fn a_million_hostile_headers() {
    let seed = from_environment("WEBGGUF_FUZZ_SEED", 7);
    let cases = from_environment("WEBGGUF_FUZZ_CASES", 1_000_000);
    let halves = [seed, seed ^ 1 << 63].map(|seed| std::thread::spawn(move || fuzz(seed, cases / 2)));
    let mut accepted = 0;
    let mut kinds = BTreeMap::new();
    for half in halves {
        let (ok, found) = half.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        accepted += ok;
        found.into_iter().for_each(|(kind, n)| *kinds.entry(kind).or_insert(0) += n);
    }
    kinds.iter().for_each(|(kind, n)| println!("{n:6} {kind}"));
    println!("{accepted} of {cases} accepted, {} kinds of error in a sample", kinds.len());
    if cases >= 100_000 {
        // The cases must reach every part of the reader, not all die at the magic.
        assert!((cases / 20..cases / 2).contains(&accepted), "{accepted} of {cases} accepted");
        for word in
            ["overlap", "misaligned", "second time", "nested", "claims", "cut short in tensor table", "has type"]
        {
            assert!(kinds.keys().any(|kind| kind.contains(word)), "no case reached `{word}`");
        }
    }
}

#[test]
fn large_hostile_headers_stay_within_their_memory() {
    // The costliest bytes there are: what a byte of file makes the reader hold at most.
    let empty = Array::U8(vec![]);
    let nested = Array::Arrays(vec![empty; 20_000]);
    let single = Array::Arrays(vec![Array::Strings([b"x"].iter().collect()); 20_000]);
    let keys = (0..20_000).fold(GgufWriter::new(), |writer, i| writer.pair(&format!("{i}"), Value::U8(1)));
    let tensors = (0..10_000).fold(GgufWriter::new(), |writer, i| writer.zeros(&format!("{i}"), GgmlType::F32, &[1]));
    let mut lying =
        GgufWriter::new().raw_pair("k", 9, &[&8u32.to_le_bytes()[..], &(1u64 << 26).to_le_bytes()].concat());
    lying.pair_count = Some(1 << 26);
    let files = [
        GgufWriter::new().pair("nested", Value::Array(nested)).header(),
        GgufWriter::new().pair("single", Value::Array(single)).header(),
        GgufWriter::new().pair("empty", Value::Array(Array::Strings([""; 50_000].iter().collect()))).header(),
        keys.header(),
        tensors.header(),
        lying.header(),
    ];
    for (i, bytes) in files.iter().enumerate() {
        for (piece, size) in [(usize::MAX, Some(1 << 40)), (1, None), (4096, None)] {
            let (outcome, peak) = peak_of(|| read(bytes, &PassKind { piece, size, vocabulary_only: false }));
            println!("file {i}: {} bytes, {peak} held", bytes.len());
            assert_eq!(outcome.is_ok(), i < 5);
            assert!(peak <= 24 * bytes.len() + (192 << 10), "file {i}: {peak} held for {} bytes", bytes.len());
        }
    }
}
