//! Prompts that hold rows beside tokens, on the CPU: rows that are the embeddings of tokens say what the tokens say.
#![cfg(not(target_arch = "wasm32"))]

mod common {
    pub mod embeddings;
    #[allow(dead_code, reason = "each test uses its part")]
    pub mod in_memory;
    #[allow(dead_code, reason = "each test uses its part")]
    pub mod yielding;
}

use std::cell::RefCell;
use std::rc::Rc;

use common::embeddings::embeddings;
use common::in_memory::{cpu_model, engine_of, header};
use common::yielding::count_yields;
use serde_json::Value;
use webgguf::ErrorCode;
use webgguf::cpu::CacheFormat;
use webgguf::gguf::Gguf;
use webgguf::kernels::reference::{argmax, log_sum_exp};
use webgguf::model::InputSource;
use webgguf::runtime::{AnySession, CpuSession, Engine, GenerateOptions, Session};

/// Without anything special, with scaled embeddings and windows, and with recurrent states.
const MODELS: [&str; 3] = ["llama-q4_k_m", "gemma3-q5_1", "qwen35-f32"];

struct Model {
    file: Vec<u8>,
    gguf: Gguf,
}

impl Model {
    fn open(name: &str) -> Self {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/models/");
        let file = std::fs::read(format!("{folder}{name}.gguf")).expect("a file");
        let gguf = header(&file);
        Self { file, gguf }
    }

    fn engine(&self) -> Engine {
        self.engine_with(CacheFormat::F16)
    }

    fn engine_with(&self, cache: CacheFormat) -> Engine {
        let model = cpu_model(&self.file, 128, cache);
        engine_of(AnySession::Cpu(Box::new(CpuSession::new(model))), &self.file)
    }

    /// Ids of the embeddings of `text` as rows.
    fn rows(&self, engine: &Engine, text: &[u32], digest: u64) -> Vec<u32> {
        self.rows_of(engine, text, InputSource { digest, count: text.len() as u32, columns: 0, canvas: 0 })
    }

    /// The same as cells of an image.
    fn image(&self, engine: &Engine, text: &[u32], columns: usize) -> Vec<u32> {
        self.rows_of(
            engine,
            text,
            InputSource { digest: 9, count: text.len() as u32, columns: columns as u32, canvas: 0 },
        )
    }

    /// Ids of rows that are held until the test ends.
    fn rows_of(&self, engine: &Engine, text: &[u32], source: InputSource) -> Vec<u32> {
        let rows = engine.session.add_rows(source, &embeddings(&self.file, &self.gguf, text));
        let held = rows.expect("rows of the right width");
        let ids = held.ids.clone().collect();
        std::mem::forget(held);
        ids
    }
}

fn text(count: u32) -> Vec<u32> {
    (0..count).map(|i| (i * i * 31 + i * 7 + 3) % 250).collect()
}

fn logits(engine: &mut Engine, ids: &[u32]) -> Vec<f32> {
    let mut all = Vec::new();
    let evaluated = engine.evaluate(ids, |_, rows| all.extend_from_slice(rows));
    assert!(count_yields(evaluated).0.expect("a good prompt"));
    all
}

/// The answer, and how much of the prompt was cached.
fn generate(engine: &mut Engine, prompt: &[u32]) -> (Vec<u32>, usize) {
    let options = GenerateOptions { max_tokens: Some(6), ignore_eos: true, ..Default::default() };
    engine.start(prompt.to_vec(), options, 0.0).expect("a good prompt");
    while count_yields(engine.next(|| 0.0)).0.expect("a good model").is_some() {}
    let outcome = engine.finish().expect("a run");
    (outcome.ids, outcome.cached_tokens)
}

#[test]
fn embeddings_as_rows_say_what_their_tokens_say() {
    for name in MODELS {
        let model = Model::open(name);
        let mut engine = model.engine();
        let text = text(50);
        let expected = logits(&mut engine, &text);
        let all = model.rows(&engine, &text, 1);
        assert_eq!(logits(&mut engine, &all), expected, "{name}: rows alone");
        // Over the borders of chunks, and not from the first row on.
        let mixed = [&text[..9], &all[9..36], &text[36..40], &all[40..41], &text[41..]].concat();
        assert_eq!(logits(&mut engine, &mixed), expected, "{name}: rows among tokens");
    }
}

#[test]
fn rows_are_cached_as_tokens_are() {
    for name in MODELS {
        let model = Model::open(name);
        let mut engine = model.engine();
        let text = text(40);
        let expected = generate(&mut engine, &text).0;
        let [picture, other] = [1, 2].map(|digest| model.rows(&engine, &text[5..30], digest));
        let with = |rows: &[u32]| [&text[..5], rows, &text[30..]].concat();
        let (answer, cached) = generate(&mut engine, &with(&picture));
        assert_eq!((&answer, cached <= 5), (&expected, true), "{name}: rows are no tokens");
        let again = model.rows(&engine, &text[5..30], 1);
        assert_eq!(generate(&mut engine, &with(&again)), (expected.clone(), 39), "{name}: the same source");
        let mut fork = count_yields(engine.another(true)).0.expect("a copy");
        assert_eq!(generate(&mut fork, &with(&picture)), (expected.clone(), 39), "{name}: a fork");
        let (answer, cached) = generate(&mut engine, &with(&other));
        assert_eq!((&answer, cached <= 5), (&expected, true), "{name}: another source");
        // Back to the middle of the rows.
        let cut = [&text[..5], &other[..12], &text[17..]].concat();
        let (answer, cached) = generate(&mut engine, &cut);
        assert_eq!((&answer, cached <= 17), (&expected, true), "{name}: a part of them");
    }
}

/// The axes of positions, of two ways to share out pairs among them: `tests/fixtures/axes.json`.
#[test]
fn cells_of_an_image_turn_by_several_axes() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/axes.json");
    let answers: Value = serde_json::from_slice(&std::fs::read(path).expect("answers")).expect("JSON");
    for (name, answer) in answers.as_object().expect("a model each") {
        let number = |key: &str| answer[key].as_u64().expect("a number") as usize;
        let (before, columns) = (number("before"), number("columns"));
        let text: Vec<u32> = serde_json::from_value(answer["ids"].clone()).expect("ids");
        let top1: Vec<usize> = serde_json::from_value(answer["top1"].clone()).expect("ids");
        let logprobs: Vec<f64> = serde_json::from_value(answer["logprobs"].clone()).expect("numbers");
        let model = Model::open(name);
        let mut engine = model.engine_with(CacheFormat::F32);
        let behind = before + number("rows") * columns;
        let image = model.image(&engine, &text[before..behind], columns);
        let prompt = [&text[..before], &image, &text[behind..]].concat();
        let vocab = engine.session.config().vocab;
        let found = logits(&mut engine, &prompt);
        for (position, row) in found.chunks(vocab).enumerate() {
            assert_eq!(argmax(row), top1[position], "{name}: position {position}");
            let Some(&expected) = logprobs.get(position) else { continue };
            let logprob = f64::from(row[text[position + 1] as usize] - log_sum_exp(row));
            assert!((logprob - expected).abs() < 1e-4, "{name}: {logprob} at {position}, expected {expected}");
        }
        // A text goes on, and back into the image, with what is known of the positions before.
        let whole = generate(&mut count_yields(engine.another(false)).0.expect("a session"), &prompt).0;
        let mut engine = count_yields(engine.another(false)).0.expect("a session");
        generate(&mut engine, &prompt[..behind + 2]);
        assert_eq!(generate(&mut engine, &prompt), (whole.clone(), behind + 2), "{name}: from behind the image");
        let mut cut = prompt[..before + columns].to_vec();
        cut.extend([1, 2]);
        generate(&mut engine, &cut);
        assert_eq!(generate(&mut engine, &prompt), (whole, before + columns), "{name}: from within the image");
    }
}

#[test]
fn rows_that_are_not_here_are_refused() {
    let model = Model::open(MODELS[0]);
    let mut engine = model.engine();
    let rows = model.rows(&engine, &text(4), 1);
    let refused = |outcome: webgguf::Result<usize>| outcome.expect_err("refused").code();
    let options = GenerateOptions::default;
    let beyond = [&rows[..], &[rows[3] + 1, 5]].concat();
    assert_eq!(refused(engine.start(beyond, options(), 0.0)), ErrorCode::InvalidArgument);
    assert_eq!(refused(engine.start(rows.clone(), options(), 0.0)), ErrorCode::InvalidArgument, "no token at the end");
    let mut other = model.engine();
    assert_eq!(refused(other.start([&rows[..], &[5]].concat(), options(), 0.0)), ErrorCode::InvalidArgument);
    let source = InputSource { digest: 2, count: 2, columns: 0, canvas: 0 };
    let short = engine.session.add_rows(source, &[0.0; 3]).expect_err("3 values");
    assert_eq!(short.code(), ErrorCode::InvalidArgument);
}

#[test]
fn an_answer_follows_a_row_where_that_is_asked_for() {
    for name in MODELS {
        let model = Model::open(name);
        let mut engine = model.engine();
        let text = text(40);
        let expected = generate(&mut engine, &text).0;
        let prompt = [&text[..30], &model.rows(&engine, &text[30..], 1)[..]].concat();
        let follow = |engine: &mut Engine, prompt: &[u32], most: usize| {
            let options =
                GenerateOptions { max_tokens: Some(most), ignore_eos: true, follows_row: true, ..Default::default() };
            let cached = engine.start(prompt.to_vec(), options, 0.0).expect("a good prompt");
            while count_yields(engine.next(|| 0.0)).0.expect("a good model").is_some() {}
            (engine.finish().expect("a run").ids, cached)
        };
        let mut engine = count_yields(engine.another(false)).0.expect("a session");
        assert_eq!(follow(&mut engine, &prompt[..39], 1).1, 0, "{name}");
        assert_eq!(follow(&mut engine, &prompt, 6), (expected, 39), "{name}: the last row alone is read");
    }
}

/// Rows are needed until the cache has them, and no longer.
#[test]
fn rows_are_held_until_the_prompt_is_read() {
    let model = Model::open(MODELS[0]);
    let mut engine = model.engine();
    let mut other = count_yields(engine.another(false)).0.expect("a session");
    let text = text(40);
    let source = InputSource { digest: 3, count: 25, columns: 0, canvas: 0 };
    let ids: Vec<u32> = engine.session.row_ids().know(source).expect("room").collect();
    let prompt = [&text[..5], &ids, &text[30..]].concat();
    let options = || GenerateOptions { max_tokens: Some(2), ..Default::default() };
    let rows = embeddings(&model.file, &model.gguf, &text[5..30]);
    let next = |engine: &mut Engine| count_yields(engine.next(|| 0.0)).0;

    engine.start(prompt.clone(), options(), 0.0).expect("rows may come later");
    assert_eq!(engine.missing_rows(), [source]);
    assert_eq!(next(&mut engine).expect_err("no rows").code(), ErrorCode::InvalidArgument);
    assert!(engine.finish().is_err(), "the run has ended");

    engine.start(prompt.clone(), options(), 0.0).expect("a good prompt");
    engine.hold_rows(source, &rows).expect("rows of the right width");
    assert_eq!(engine.missing_rows(), []);
    other.start(prompt.clone(), options(), 0.0).expect("a good prompt");
    assert_eq!(other.missing_rows(), [], "of another session of the model");
    engine.finish().expect("a run that read nothing");
    assert_eq!(other.missing_rows(), [source], "they went with the last run that held them");
    other.hold_rows(source, &rows).expect("rows of the right width");
    next(&mut other).expect("a good model");
    assert!(!engine.session.holds(source), "they are in the cache");
    other.finish().expect("a run");

    let longer = [&prompt[..], &[7, 8]].concat();
    other.start(longer.clone(), options(), 0.0).expect("a good prompt");
    assert_eq!(other.missing_rows(), [], "nothing is read twice");
    next(&mut other).expect("a good model");
    other.finish().expect("a run");
    let mut fork = count_yields(other.another(true)).0.expect("a copy");
    fork.start(longer, options(), 0.0).expect("a good prompt");
    assert_eq!(fork.missing_rows(), []);
    next(&mut fork).expect("a good model");
    fork.start(text.clone(), options(), 0.0).expect_err("a run is on");
    fork.reset();
    other.start(prompt.clone(), options(), 0.0).expect("a good prompt");
    other.reset();
    other.start(prompt, options(), 0.0).expect("a good prompt");
    other.hold_rows(source, &rows).expect("rows of the right width");
    assert!(engine.session.holds(source));
    drop(other);
    assert!(!engine.session.holds(source), "the session was freed");
}

#[test]
fn reading_a_prompt_is_told() {
    let model = Model::open(MODELS[0]);
    let mut engine = model.engine();
    let told = Rc::new(RefCell::new(Vec::new()));
    let options = GenerateOptions { max_tokens: Some(3), ignore_eos: true, ..Default::default() };
    let mut heard = |prompt: &[u32]| {
        engine.start(prompt.to_vec(), options.clone(), 0.0).expect("a good prompt");
        let list = told.clone();
        engine.listen(Rc::new(move |read| list.borrow_mut().push(read)));
        while count_yields(engine.next(|| 0.0)).0.expect("a good model").is_some() {}
        engine.finish().expect("a run");
        told.take()
    };
    let text = text(100);
    assert_eq!(heard(&text[..80]), [32, 64, 80]);
    assert_eq!(heard(&text), [100], "what was cached is not read again");
    assert_eq!(heard(&[1, 2, 3]), [3]);
}
