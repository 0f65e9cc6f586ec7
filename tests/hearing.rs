//! A model that writes while it hears, on the CPU and with the feature `gpu-tests` on a GPU, beside llama.cpp.
#![cfg(not(target_arch = "wasm32"))]

mod common {
    #[cfg(feature = "gpu-tests")]
    pub mod device;
    #[allow(dead_code, reason = "each test uses its part")]
    pub mod in_memory;
}

use common::in_memory::{cpu_model, engine_of};
use serde_json::Value;
use webgguf::ErrorCode;
use webgguf::cpu::{CacheFormat, Logits};
use webgguf::model::InputSource;
use webgguf::runtime::{AnySession, ChosenToken, CpuSession, Engine, Session};

const TEXT: &[u8] = include_bytes!("fixtures/models/mistral3-realtime-f16.gguf");
const SOUNDS: [&str; 2] =
    [include_str!("fixtures/encoders/voxtral_rt.json"), include_str!("fixtures/encoders/voxtral_rt-odd.json")];
/// Rows of the silence in front, and tokens by which words lag behind.
const BEFORE: usize = 32 + 6;

fn on_cpu() -> Engine {
    let model = cpu_model(TEXT, 128, CacheFormat::F32);
    engine_of(AnySession::Cpu(Box::new(CpuSession::new(model))), TEXT)
}

#[cfg(feature = "gpu-tests")]
async fn on_gpu(sequences: usize) -> Engine {
    use common::in_memory::{header, put_weights};
    use webgguf::forward::Room;
    use webgguf::runtime::GpuModelBuilder;

    let (gguf, device) = (header(TEXT), common::device::device().await);
    let config = webgguf::model::config(&gguf).expect("a known model");
    let matched = webgguf::model::match_tensors(&config, &gguf.tensors).expect("all tensors");
    let (caps, room) = (device.caps.clone(), Room { sequences, rows: sequences, ..Room::one(128).with_drafts(true) });
    let builder = GpuModelBuilder::new(device, caps, config, room, &gguf.tensors, matched);
    let mut builder = builder.expect("room");
    put_weights(&mut builder, TEXT, &gguf);
    engine_of(AnySession::of_gpu(builder.finish().await.expect("a session")), TEXT)
}

/// Rows of a sound, and the tokens that llama.cpp chooses behind them.
struct Sound {
    rows: Vec<f32>,
    tokens: Vec<u32>,
}

fn sounds() -> Vec<Sound> {
    let cases = |text: &&str| serde_json::from_str::<Value>(text).expect("JSON")["cases"].as_array().cloned();
    let all = SOUNDS.iter().filter_map(cases).flatten();
    let whole = all.filter(|case| case["rows"].as_array().map(Vec::len) == case["count"].as_u64().map(|n| n as usize));
    let sound = |case: Value| {
        let rows = case["rows"].as_array().into_iter().flatten().flat_map(|row| row.as_array().cloned());
        Sound {
            rows: rows.flatten().filter_map(|value| Some(value.as_f64()? as f32)).collect(),
            tokens: case["ids"].as_array().into_iter().flatten().filter_map(|id| Some(id.as_u64()? as u32)).collect(),
        }
    };
    whole.map(sound).collect()
}

/// What a model hears, and the ids of the rows.
async fn heard(engine: &mut Engine, sound: &Sound, digest: u64) -> (Vec<u32>, Vec<u32>) {
    let (found, ids, _) = heard_with(engine, sound, digest, None).await;
    (found, ids)
}

/// The same, with how likely its tokens were, where that is wanted.
async fn heard_with(
    engine: &mut Engine,
    sound: &Sound,
    digest: u64,
    logprobs: Option<usize>,
) -> (Vec<u32>, Vec<u32>, Vec<ChosenToken>) {
    let width = engine.session.config().hidden;
    let count = sound.rows.len() / width;
    let source = InputSource { digest, count: count as u32, columns: 0, canvas: 0 };
    let ids: Vec<u32> = engine.session.row_ids().know(source).expect("ids").collect();
    let token = |text: &str| engine.tokenizer.encode(text, false, true);
    let mut next = [token("<|begin_of_text|>"), token("[STREAMING_PAD]").repeat(BEFORE)].concat();
    assert_eq!(next.len(), BEFORE + 1, "each is a token");
    let (mut found, mut likely, mut at) = (Vec::new(), Vec::new(), 0);
    while at < count {
        let end = at + next.len();
        let token = engine.hear(&ids[..end], &next, &sound.rows[at * width..end * width], logprobs).await;
        let (token, chosen) = token.expect("a token").expect("which nobody stopped");
        next = vec![token.id];
        found.push(token.id);
        likely.extend(chosen);
        at = end;
    }
    (found, ids, likely)
}

/// The log-softmax of the logits of the CPU behind the tokens of a sound, from the last one of the silence on.
fn log_softmax(sound: &Sound, begin: u32, pad: u32) -> Vec<Vec<f32>> {
    let mut model = cpu_model(TEXT, 128, CacheFormat::F32);
    let all = [&[begin][..], &[pad].repeat(BEFORE), &sound.tokens[..sound.tokens.len() - 1]].concat();
    let rows = sound.rows.chunks_exact(sound.rows.len() / all.len());
    let of = |(at, row): (usize, &[f32])| {
        model.put_beside(row);
        let logits = model.forward(&all[at..=at], at, Logits::Last).expect("logits");
        let sum: f64 = logits.iter().map(|&logit| f64::from(logit).exp()).sum();
        logits.iter().map(|&logit| (f64::from(logit) - sum.ln()) as f32).collect()
    };
    rows.enumerate().map(of).skip(BEFORE).collect()
}

/// The log-probabilities of what is heard are the log-softmax of the logits of the CPU, and asking for them changes
/// nothing.
async fn check_log_probabilities(engine: &mut Engine, most: f32) {
    let token = |text: &str| engine.tokenizer.encode(text, false, true)[0];
    let (begin, pad) = (token("<|begin_of_text|>"), token("[STREAMING_PAD]"));
    for (sound, digest) in sounds().iter().zip(100..) {
        let (found, _, likely) = heard_with(engine, sound, digest, Some(3)).await;
        assert_eq!(found, sound.tokens);
        let wanted = log_softmax(sound, begin, pad);
        assert_eq!((likely.len(), wanted.len()), (found.len(), found.len()));
        for ((chosen, row), id) in likely.iter().zip(&wanted).zip(found) {
            assert_eq!((chosen.id, chosen.top.len(), chosen.top[0].0), (id, 3, id), "the likeliest comes first");
            for &(id, logprob) in [(id, chosen.logprob)].iter().chain(&chosen.top) {
                let apart = (logprob - row[id as usize]).abs();
                assert!(apart <= most, "token {id}: {logprob}, {apart} from the log-softmax");
            }
        }
    }
}

async fn logits(engine: &mut Engine, ids: &[u32]) -> Vec<f32> {
    let mut all = Vec::new();
    let stop = std::cell::Cell::new(false);
    engine.reset();
    engine.session.evaluate(ids, 0, &stop, &mut |_, logits| all.extend_from_slice(logits)).await.expect("logits");
    all
}

/// `most`: how far log-probabilities may be from the log-softmax of the CPU.
async fn check(mut engine: Engine, most: f32) {
    let text = [3, 77, 5, 240, 9];
    let before = logits(&mut engine, &text).await;
    let sounds = sounds();
    assert_eq!(sounds.len(), 2);
    for (number, sound) in sounds.iter().enumerate() {
        engine.reset();
        let (found, ids) = heard(&mut engine, sound, number as u64).await;
        assert_eq!(found, sound.tokens, "sound {number}");
        assert_eq!(engine.common_prefix(&ids), ids.len(), "its rows are cached");
        // From some row on again.
        let (width, from) = (engine.session.config().hidden, ids.len() - 2);
        let (token, row) = (&found[found.len() - 3..][..1], &sound.rows[from * width..][..width]);
        let again = engine.hear(&ids[..=from], token, row, None).await.expect("a token");
        assert_eq!(again.map(|(token, likely)| (token.id, likely)), Some((found[found.len() - 2], None)));
    }
    // Passes of few rows may be compiled meanwhile.
    for round in 0..3 {
        for (sound, digest) in sounds.iter().zip(10 + 2 * round..) {
            assert_eq!(heard(&mut engine, sound, digest).await.0, sound.tokens, "once more");
        }
    }
    assert!(sounds[0].tokens.len() > 15 && sounds[0].tokens != sounds[1].tokens, "sounds that tell little");
    check_log_probabilities(&mut engine, most).await;
    assert_eq!(logits(&mut engine, &text).await, before, "nothing of it is left");
}

#[test]
fn words_are_what_llama_cpp_hears_on_the_cpu() {
    pollster::block_on(check(on_cpu(), 1e-5));
}

#[cfg(feature = "gpu-tests")]
#[test]
fn words_are_what_llama_cpp_hears_on_a_gpu() {
    pollster::block_on(async {
        check(on_gpu(1).await, 2e-3).await;
        let mut lanes = on_gpu(2).await;
        let ids = lanes.session.row_ids().know(InputSource { digest: 1, count: 1, columns: 0, canvas: 0 });
        let row = vec![0.0; lanes.session.config().hidden];
        let error = lanes.hear(&[ids.expect("an id").start], &[1], &row, None).await.expect_err("lanes");
        assert_eq!((error.code(), error.message().contains("'parallel'")), (ErrorCode::InvalidArgument, true));
    });
}

#[test]
fn what_does_not_fit_is_refused() {
    pollster::block_on(async {
        let mut engine = on_cpu();
        let width = engine.session.config().hidden;
        let source = InputSource { digest: 1, count: 200, columns: 0, canvas: 0 };
        let ids: Vec<u32> = engine.session.row_ids().know(source).expect("ids").collect();
        let rows = vec![0.1; 200 * width];
        let refused = ErrorCode::InvalidArgument;
        for (ids, tokens, rows, code) in [
            (&ids[..2], &[1, 2][..], &rows[..width], refused),
            (&ids[..2], &[1][..], &rows[..width], refused), // the row before was never read
            (&ids[..1], &[5000][..], &rows[..width], refused),
            (&ids[..0], &[][..], &rows[..0], refused),
            (&[1 << 31 | 5000][..], &[1][..], &rows[..width], refused),
            (&ids[..], &[1; 200][..], &rows[..], ErrorCode::ContextFull),
        ] {
            let error = engine.hear(ids, tokens, rows, None).await.expect_err("what does not fit");
            assert_eq!(error.code(), code, "{}", error.message());
        }
        engine.stop.set(true);
        assert_eq!(engine.hear(&ids[..2], &[1, 2], &rows[..2 * width], None).await.expect("no error"), None);
        engine.stop.set(false);
        assert!(engine.hear(&ids[..2], &[1, 2], &rows[..2 * width], None).await.expect("no error").is_some());
    });
}
