//! The prefix cache on the CPU: texts in turn on one session are read once, and are what they are without it.
#![cfg(not(target_arch = "wasm32"))]

mod common {
    #[allow(dead_code, reason = "each test uses its part")]
    pub mod in_memory;
    #[allow(dead_code, reason = "each test uses its part")]
    pub mod yielding;
}

use common::in_memory::{cpu_model, engine_of};
use common::yielding::count_yields;
use webgguf::cpu::CacheFormat;
use webgguf::kernels::kv_type::KvType;
use webgguf::runtime::{AnySession, CpuSession, Engine, GenerateOptions, Session};

fn engine(name: &str, format: CacheFormat) -> Engine {
    let path = format!("{}/tests/fixtures/models/{name}.gguf", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::read(path).expect("a file");
    engine_of(AnySession::Cpu(Box::new(CpuSession::new(cpu_model(&file, 1024, format)))), &file)
}

fn options() -> GenerateOptions {
    GenerateOptions { max_tokens: Some(6), ignore_eos: true, ..GenerateOptions::default() }
}

/// The ids of an answer, and how many tokens of its prompt were not read again, as `start` says and as passes over the
/// prompt tell.
fn generate(engine: &mut Engine, prompt: &[u32], options: &GenerateOptions) -> (Vec<u32>, usize) {
    let cached = engine.start(prompt.to_vec(), options.clone(), 0.0).expect("a good prompt");
    let read = std::rc::Rc::new(std::cell::Cell::new(usize::MAX));
    let told = read.clone();
    engine.listen(std::rc::Rc::new(move |tokens| told.set(told.get().min(tokens))));
    while count_yields(engine.next(|| 0.0)).0.expect("a good model").is_some() {}
    // The first pass reads what follows the tokens that were cached, at most 32 of them.
    let first = read.get();
    assert!(first > cached && first <= cached + 32, "{first} after the first pass, {cached} cached");
    (engine.finish().expect("a run").ids, cached)
}

/// The same as in a page, where the session first keeps what it would lose, and takes what is kept.
fn write(engine: &mut Engine, prompt: &[u32], options: &GenerateOptions) -> (Vec<u32>, usize) {
    let adapters = engine.adapters_of(&options.adapters, prompt).expect("known adapters");
    let kept = engine.kept_of(prompt, &adapters);
    count_yields(engine.keep_before(prompt, &adapters, kept.as_ref())).0.expect("a CPU");
    if let Some(kept) = kept {
        count_yields(engine.take_kept(&kept)).0.expect("a CPU");
    }
    generate(engine, prompt, options)
}

fn bytes(engine: &Engine) -> u64 {
    engine.session.prefixes().bytes()
}

/// Texts of these lengths in tokens, each another one.
fn texts(lengths: &[usize], vocab: usize) -> Vec<Vec<u32>> {
    let text = |(of, &length): (usize, &usize)| (0..length).map(|at| ((at * 7 + of * 31) % vocab) as u32).collect();
    lengths.iter().enumerate().map(text).collect()
}

/// Three rounds of conversations in turn. Each prompt is the one of the round before, its answer and some more.
fn in_turn(name: &str, format: CacheFormat, lengths: &[usize]) {
    let mut plain = engine(name, format);
    let mut engine = count_yields(plain.another(false)).0.expect("memory");
    engine.session.prefixes().set_budget(1 << 30);
    let mut texts = texts(lengths, plain.session.config().vocab);
    for round in 0..3 {
        for (at, text) in texts.iter_mut().enumerate() {
            plain.reset();
            let expected = generate(&mut plain, text, &options()).0;
            let (found, cached) = write(&mut engine, text, &options());
            assert_eq!(found, expected, "{name}: text {at}, round {round}");
            // The last token of an answer was not read, and a state goes on from its last copy.
            let least = if round == 0 { 0 } else { text.len() - 4 - 64 };
            assert!(cached >= least, "{name}: text {at}, round {round}: {cached} of {} were cached", text.len());
            text.extend(expected.iter().chain(&[5, 6, 7]));
        }
    }
    let [blocks, tokens, hits] = engine.session.prefixes().counts();
    assert_eq!(hits as usize, 2 * lengths.len(), "{name}: each text is taken in the second and the third round");
    let kept: usize = lengths[1..].iter().sum();
    assert!(blocks > 0 && tokens as usize >= kept, "{name}: {tokens} tokens in {blocks} blocks");
    let most = 2 * bytes(&engine) / 3;
    assert!(most > 0, "{name}: nothing was kept");
    engine.session.prefixes().set_budget(most);
    assert!(bytes(&engine) <= most, "{name}: {} bytes of {most}", bytes(&engine));
    engine.session.prefixes().set_budget(0);
    assert_eq!((bytes(&engine), engine.session.prefixes().counts()), (0, [0, 0, hits]), "{name}");
    plain.reset();
    let expected = generate(&mut plain, &texts[0], &options()).0;
    assert_eq!(write(&mut engine, &texts[0], &options()), (expected, 0), "{name}: without a budget");
}

#[test]
fn texts_in_turn_are_read_once() {
    in_turn("llama-q4_0", CacheFormat::F16, &[300, 150, 270]);
    for kv_type in [KvType::Q8_0, KvType::Q4_0] {
        in_turn("llama-q8_0", CacheFormat::Rounded(kv_type), &[300, 150]);
    }
    in_turn("qwen2vl-f16", CacheFormat::F32, &[300, 150]);
}

#[test]
fn windows_latent_caches_and_shared_caches_are_kept_too() {
    for name in ["gemma3-f16", "gemma4-e-q8_0", "deepseek2-f16"] {
        in_turn(name, CacheFormat::F16, &[300, 150]);
    }
}

#[test]
fn recurrent_states_go_on_from_their_copies() {
    for name in ["qwen35-q8_0", "mamba2-f32", "lfm2-q8_0", "rwkv7-q4_0"] {
        in_turn(name, CacheFormat::F16, &[300, 150]);
    }
}

#[test]
fn bytes_of_a_text_are_those_of_its_rows() {
    let mut engine = engine("llama-q4_0", CacheFormat::F16);
    engine.session.prefixes().set_budget(1 << 30);
    let texts = texts(&[300, 280], engine.session.config().vocab);
    write(&mut engine, &texts[0], &options());
    assert_eq!(bytes(&engine), 0, "a text alone is not copied");
    write(&mut engine, &texts[1], &options());
    let config = engine.session.config();
    let row = config.layers * config.kv_heads.of(0) * config.head_dim * 2 * size_of::<u16>();
    assert_eq!(bytes(&engine), ((300 + 5) * row) as u64);
    assert_eq!(engine.session.prefixes().counts(), [2, 305, 0]);
}

#[test]
fn some_texts_are_not_kept() {
    let mut engine = engine("llama-q4_0", CacheFormat::F16);
    engine.session.prefixes().set_budget(1 << 30);
    let texts = texts(&[300, 280], engine.session.config().vocab);
    let private = GenerateOptions { is_private: true, ..options() };
    // Neither a private prompt,
    write(&mut engine, &texts[0], &private);
    write(&mut engine, &texts[1], &options());
    assert_eq!(bytes(&engine), 0);
    // nor what a private request adds to another text.
    let longer = [&texts[1][..], &texts[0][..100]].concat();
    assert!(write(&mut engine, &longer, &private).1 >= 279);
    write(&mut engine, &[1, 2, 3], &options());
    assert_eq!(engine.session.prefixes().counts()[1], 280);
    assert_eq!(write(&mut engine, &longer, &options()).1, 280);
}

#[test]
fn texts_of_other_adapters_are_others() {
    let mut engine = engine("llama-f32", CacheFormat::F16);
    let path = format!("{}/tests/fixtures/adapters/llama-f32.all.gguf", env!("CARGO_MANIFEST_DIR"));
    let adapter = std::fs::read(path).expect("a file");
    count_yields(engine.add_adapter(1, &adapter)).0.expect("an adapter of this model");
    let mut plain = count_yields(engine.another(false)).0.expect("memory");
    engine.session.prefixes().set_budget(1 << 30);
    let texts = texts(&[300, 280], engine.session.config().vocab);
    let with = |adapters: &[(u32, f32)]| GenerateOptions { adapters: adapters.to_vec(), ..options() };
    let uses: [&[(u32, f32)]; 3] = [&[], &[(1, 1.0)], &[(1, 0.5)]];
    let mut answers = Vec::new();
    for round in 0..2 {
        for (adapters, text) in uses.iter().flat_map(|with| texts.iter().map(move |text| (with, text))) {
            plain.reset();
            let expected = generate(&mut plain, text, &with(adapters)).0;
            let (found, cached) = write(&mut engine, text, &with(adapters));
            assert_eq!(found, expected, "{adapters:?}, round {round}");
            assert_eq!(cached, if round == 0 { 0 } else { text.len() - 1 }, "{adapters:?}, round {round}");
            answers.push(found);
        }
    }
    assert!(answers[0] != answers[2], "the adapter changes the answer");
    let before = bytes(&engine);
    assert!(engine.remove_adapter(1));
    assert!(bytes(&engine) > 0 && bytes(&engine) < before, "{} bytes of {before}", bytes(&engine));
}

#[test]
fn what_is_kept_makes_room_for_a_cache_that_grows() {
    let mut engine = engine("llama-q4_0", CacheFormat::F16);
    engine.session.prefixes().set_budget(1 << 30);
    let texts = texts(&[300, 280], engine.session.config().vocab);
    let expected = write(&mut engine, &texts[0], &options()).0;
    write(&mut engine, &texts[1], &options());
    let before = bytes(&engine);
    assert!(before > 0);
    // No memory has room for as many positions.
    let refused = count_yields(engine.session.make_room(usize::MAX)).0.expect_err("too much");
    assert_eq!(refused.code().as_str(), "out_of_memory");
    assert_eq!((bytes(&engine), engine.session.prefixes().budget()), (0, before / 2));
    assert_eq!(write(&mut engine, &texts[1], &options()).1, 279, "what is cached stays");
    assert_eq!(write(&mut engine, &texts[0], &options()), (expected, 0));
}
