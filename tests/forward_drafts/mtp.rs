//! Multi-token prediction: a block of a file of Qwen 3.5 against llama.cpp, and the texts that it drafts for. The block
//! is made here, as `tools/oracle/make_mtp.py` makes it.

use webgguf::gguf::{GgmlType, Gguf, TensorInfo};
use webgguf::runtime::Drafting;

use super::grammars::{Refuses, Request};
use super::*;

const EXPECTED: &str = include_str!("../fixtures/qwen35-mtp.json");

/// Values per token, of a head, of all heads, and inside the feed-forward.
const D: usize = 40;
const HEAD: usize = 20;
const HEADS: usize = 60;
const FFN: usize = 44;

/// Names behind `blk.3.`, columns and rows; vectors have no rows.
const TENSORS: [(&str, usize, usize); 15] = [
    ("attn_norm", D, 0),
    ("attn_q", D, 2 * HEADS),
    ("attn_k", D, HEAD),
    ("attn_v", D, HEAD),
    ("attn_q_norm", HEAD, 0),
    ("attn_k_norm", HEAD, 0),
    ("attn_output", HEADS, D),
    ("post_attention_norm", D, 0),
    ("ffn_gate", D, FFN),
    ("ffn_up", D, FFN),
    ("ffn_down", FFN, D),
    ("nextn.eh_proj", 2 * D, D),
    ("nextn.enorm", D, 0),
    ("nextn.hnorm", D, 0),
    ("nextn.shared_head_norm", D, 0),
];

pub(super) fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(2_166_136_261, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(16_777_619))
}

/// The values of a tensor: those of a matrix are around 0, those of a norm around 1.
pub(super) fn values(name: &str, columns: usize, rows: usize) -> Vec<f32> {
    let scale = (4.0 / (columns as f64).sqrt()) as f32;
    let mut state = fnv1a(name.as_bytes());
    let value = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let u = (state >> 8) as f32 / 16_777_216.0 - 0.5;
        if rows > 0 { u * scale } else { 1.0 + u }
    };
    (0..columns * rows.max(1)).map(value).collect()
}

/// The fixture of Qwen 3.5 with the block: its header, and the bytes that this speaks of.
fn with_block(expected: &serde_json::Value) -> (Gguf, Vec<u8>) {
    let (mut gguf, mut bytes) = (header(FILES[2]), FILES[2].to_vec());
    gguf.metadata.insert("qwen35.block_count", Value::U32(4));
    gguf.metadata.insert("qwen35.nextn_predict_layers", Value::U32(1));
    for (name, columns, rows) in TENSORS {
        let name = format!("blk.3.{name}.weight");
        let data: Vec<u8> = values(&name, columns, rows).iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(u64::from(fnv1a(&data)), expected["fnv1a"][&name].as_u64().expect("a digest"), "{name}");
        let dims = [columns as u64].into_iter().chain((rows > 0).then_some(rows as u64)).collect();
        let (offset, size) = (bytes.len() as u64, data.len() as u64);
        gguf.tensors.push(TensorInfo { name, ty: GgmlType::F32, dims, offset, bytes: size, part: 0 });
        bytes.extend(data);
    }
    (gguf, bytes)
}

async fn session(expected: &serde_json::Value) -> GpuSession {
    session_of(with_block(expected), Room::one(CONTEXT)).await
}

/// A session of this file, with drafts.
pub(super) async fn session_of((gguf, bytes): (Gguf, Vec<u8>), room: Room) -> GpuSession {
    let device = device().await;
    let config = webgguf::model::config(&gguf).expect("a known model");
    let matched = match_tensors(&config, &gguf.tensors).expect("all tensors");
    let caps = device.caps.clone().with_precision(Precision::Exact);
    let room = room.with_drafts(true);
    let mut builder = GpuModelBuilder::new(device, caps, config, room, &gguf.tensors, matched).expect("room");
    put_weights(&mut builder, &bytes, &gguf);
    builder.finish().await.expect("command lists")
}

pub(super) fn numbers(of: &serde_json::Value) -> Vec<f32> {
    of.as_array().expect("numbers").iter().map(|number| number.as_f64().expect("a number") as f32).collect()
}

pub(super) fn ids_of(of: &serde_json::Value) -> Vec<u32> {
    of.as_array().expect("ids").iter().map(|id| id.as_u64().expect("an id") as u32).collect()
}

pub(super) fn assert_close(what: &str, found: &[f32], expected: &[f32]) {
    let size = |values: &mut dyn Iterator<Item = f32>| values.map(|x| x * x).sum::<f32>().sqrt();
    let error = size(&mut found.iter().zip(expected).map(|(a, b)| a - b)) / size(&mut expected.iter().copied());
    console_log!("{what}: off by {error:.1e}");
    assert!(found.len() == expected.len() && error < 2e-3, "{what}: logits are off by {error:.2e}");
}

pub(super) fn row(token: u32, position: usize) -> Row {
    Row { token, position: position as u32, ..Row::default() }
}

/// Compares logits and drafts with what llama.cpp says, after a text that was read in two passes of many rows and one
/// of a single row, and again after a pass that accepts some of the drafts. Compared are the logits that llama.cpp
/// finds largest.
pub(super) async fn assert_drafts_agree(name: &str, session: GpuSession, expected: &serde_json::Value) {
    let compare = |what: &str, found: &[f32], expected: &serde_json::Value| {
        let found: Vec<f32> = ids_of(&expected["ids"]).iter().map(|&id| found[id as usize]).collect();
        assert_close(&format!("{name}, {what}"), &found, &numbers(&expected["logits"]));
    };
    let (text, next) = (ids_of(&expected["text"]), expected["next"].as_u64().expect("an id") as u32);
    let middle = expected["middle"].as_u64().expect("a position") as usize;
    let last = text.len() - 1;
    let mut session = FewRows::new(session);
    session.read_sequence(0, 0, &text[..middle]).await.expect("a working device");
    let (_, found) = session.drafts_after(Some(row(text[middle], middle)), 1).await.expect("a working device");
    compare("within the text", &found, &expected["middle_logits"]);
    session.read_sequence(0, middle, &text[middle..last]).await.expect("a working device");
    let logits = session.logits_of_rows(&[row(text[last], last)]).await.expect("a working device");
    assert_eq!(argmax(&logits), next as usize, "{name}");
    let drafts = ids_of(&expected["drafts"]);
    for steps in 1..=3 {
        let (ids, found) = session.drafts_after(Some(row(next, last + 1)), steps).await.expect("a working device");
        compare(&format!("draft {steps}"), &found, &expected["draft_logits"][steps - 1]);
        assert_eq!(ids, drafts[..steps], "{name}");
    }
    let accepted = expected["accepted"].as_u64().expect("a count") as usize;
    let checked = ids_of(&expected["checked"]);
    assert_eq!(session.accepted().await.expect("a working device"), checked[..=accepted], "{name}");
    let (ids, found) = session.drafts_after(None, 1).await.expect("a working device");
    compare("after a draft that was right", &found, &expected["draft_again"]);
    assert_eq!(ids, ids_of(&expected["drafts_again"])[..1], "{name}");
}

/// A text is what it is without drafts, greedy and sampled. Some drafts must be wrong, or the test says nothing.
pub(super) async fn assert_texts_are_the_same(of: &str, engine: &mut Engine, prompt: &[u32], drafting: Drafting) {
    let warm = SamplingOptions { temperature: 0.7, seed: 3, ..SamplingOptions::default() };
    for (name, sampling) in [("greedy", SamplingOptions::default()), ("sampled", warm)] {
        let mut found = Vec::new();
        for drafting in [Drafting::Off, drafting] {
            engine.reset();
            let options = GenerateOptions { drafting, ..options(60, sampling) };
            found.push(outcome(engine, prompt, &options, None).await);
        }
        console_log!(
            "{of}, {name}: {} drafts were right, {} wrong",
            found[1].accepted_drafts,
            found[1].rejected_drafts
        );
        assert_eq!(found[0].ids, found[1].ids, "{of}, {name}");
        assert!(found[1].rejected_drafts > 0, "{of}, {name}: the test says nothing");
    }
}

/// Logits and drafts of the block, after a text that was read in two passes of many rows and one of a single row, and
/// again after a pass that accepts one of its drafts.
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn a_block_that_predicts_the_token_after_the_next_agrees_with_llama_cpp() {
    let expected: serde_json::Value = serde_json::from_str(EXPECTED).expect("JSON");
    let (text, next) = (ids_of(&expected["text"]), expected["next"].as_u64().expect("an id") as u32);
    let mut session = FewRows::new(session(&expected).await);
    let middle = expected["middle"].as_u64().expect("a position") as usize;
    session.read_sequence(0, 0, &text[..middle]).await.expect("a working device");
    let (_, found) = session.drafts_after(Some(row(text[middle], middle)), 1).await.expect("a working device");
    assert_close("within the text", &found, &numbers(&expected["middle_logits"]));

    session.read_sequence(0, middle, &text[middle..13]).await.expect("a working device");
    let logits = session.logits_of_rows(&[row(text[13], 13)]).await.expect("a working device");
    assert_eq!(argmax(&logits), next as usize);
    let drafts = ids_of(&expected["drafts"]);
    for steps in 1..=3 {
        let (ids, found) = session.drafts_after(Some(row(next, 14)), steps).await.expect("a working device");
        assert_eq!(ids, drafts[..steps]);
        assert_close(&format!("draft {steps}"), &found, &numbers(&expected["draft_logits"][steps - 1]));
    }
    assert_eq!(session.accepted().await.expect("a working device"), [drafts[0], 57]);
    let again = &expected["draft_again"];
    let (ids, found) = session.drafts_after(None, 1).await.expect("a working device");
    assert_eq!(ids, ids_of(&expected["drafts_again"])[..1]);
    let found: Vec<f32> = ids_of(&again["ids"]).iter().map(|&id| found[id as usize]).collect();
    assert_close("after a draft that was right", &found, &numbers(&again["logits"]));
}

/// A text is what it is without drafts, whether they are right or not; most are wrong, as the weights are random.
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn texts_that_the_block_drafts_for_are_the_same() {
    let expected: serde_json::Value = serde_json::from_str(EXPECTED).expect("JSON");
    let mut engine = engine_of(AnySession::of_gpu(session(&expected).await), FILES[2]);
    engine.check_drafting(Drafting::Mtp).expect("a block that drafts");
    let error = engine.check_drafting(Drafting::Model).expect_err("no model");
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    let prompt = ids_of(&expected["text"]);
    assert_texts_are_the_same("block", &mut engine, &prompt, Drafting::Mtp).await;
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn texts_under_a_grammar_that_the_block_drafts_for_are_the_same() {
    let expected: serde_json::Value = serde_json::from_str(EXPECTED).expect("JSON");
    let mut engine = engine_of(AnySession::of_gpu(session(&expected).await), FILES[2]);
    for refuses in [Refuses::Nothing, Refuses::Some] {
        let options = few_tokens(SamplingOptions::default(), &[5, 9], 60);
        let request = Request(ids_of(&expected["text"]), options, Some(refuses));
        let counts = request.compare("block", &mut engine, Drafting::Mtp).await;
        assert!(counts != [0, 0], "{refuses:?}: the test says nothing");
    }
}

/// The same of a text in the second of two sequences, whose prompts are read in turn and share passes.
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn a_block_drafts_for_two_sequences_what_it_drafts_for_one() {
    let expected: serde_json::Value = serde_json::from_str(EXPECTED).expect("JSON");
    let (text, next) = (ids_of(&expected["text"]), expected["next"].as_u64().expect("an id") as u32);
    let room = Room::one(CONTEXT).for_requests(2);
    let mut session = FewRows::new(session_of(with_block(&expected), room).await);
    let other: Vec<u32> = text.iter().rev().map(|id| id / 2).collect();
    let of = |sequence, token, position: usize| Row { token, position: position as u32, sequence, flags: 0 };
    for part in [0..5, 5..13] {
        session.read_sequence(1, part.start, &text[part.clone()]).await.expect("a working device");
        session.read_sequence(0, part.start, &other[part]).await.expect("a working device");
    }
    let logits = session.logits_of_rows(&[of(0, other[13], 13), of(1, text[13], 13)]).await.expect("a working device");
    let vocab = logits.len() / 2;
    assert_eq!(argmax(&logits[vocab..]), next as usize);
    let first = [of(0, argmax(&logits[..vocab]) as u32, 14), of(1, next, 14)];
    let drafts = ids_of(&expected["drafts"]);
    for steps in 1..=3 {
        let (ids, found) = session.drafts_of(2, Some(&first), steps).await.expect("a working device");
        assert_eq!(ids[1], drafts[..steps]);
        let logits = numbers(&expected["draft_logits"][steps - 1]);
        assert_close(&format!("draft {steps} of two"), &found[vocab..], &logits);
    }
    let accepted = session.accepted_of(2).await.expect("a working device");
    assert_eq!(accepted[1], [drafts[0], 57], "beside {:?}", accepted[0]);
    let again = &expected["draft_again"];
    let (ids, found) = session.drafts_of(2, None, 1).await.expect("a working device");
    assert_eq!(ids[1], ids_of(&expected["drafts_again"])[..1]);
    let found: Vec<f32> = ids_of(&again["ids"]).iter().map(|&id| found[vocab + id as usize]).collect();
    assert_close("after a draft that was right, of two", &found, &numbers(&again["logits"]));
}

/// The file with a block that always drafts token 0: all of its logits are zero.
fn with_block_of_zeros(expected: &serde_json::Value) -> (Gguf, Vec<u8>) {
    let (gguf, mut bytes) = with_block(expected);
    bytes[FILES[2].len()..].fill(0);
    (gguf, bytes)
}

/// Lanes write with drafts of a block what each writes alone without, whether most drafts are right or wrong.
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn lanes_that_a_block_drafts_for_write_what_each_writes_alone() {
    let expected: serde_json::Value = serde_json::from_str(EXPECTED).expect("JSON");
    let room = Room::one(CONTEXT).for_requests(3);
    for (name, file, are_right) in
        [("zeros", with_block_of_zeros(&expected), true), ("random", with_block(&expected), false)]
    {
        let mut lanes = vec![engine_of(AnySession::of_gpu(session_of(file, room).await), FILES[2])];
        lanes[0].check_drafting(Drafting::Mtp).expect("a block that drafts");
        for _ in 1..3 {
            lanes.push(lanes[0].another(false).await.expect("a lane"));
        }
        let vocab = lanes[0].session.config().vocab;
        let mut requests = model_lanes::requests(vocab, 40);
        requests.truncate(3);
        requests[0].1.biases = vec![(0, 90.0)];
        requests[1].1.biases = vec![(0, 60.0), (9, 59.5)];
        requests[2].0 = ids(600, vocab)[..480].to_vec();
        requests[2].1.max_tokens = Some(25);
        let alone = model_lanes::alone(&mut lanes[0], &requests).await;
        for turn in 0..2 {
            let found = model_lanes::at_once(&mut lanes, &requests, &[Drafting::Mtp]).await;
            let [right, wrong] = model_lanes::counts(&found);
            console_log!("{name}, turn {turn}: {right:?} drafts were right, {wrong:?} wrong");
            assert_eq!(model_lanes::ids_of(&found), alone, "{name}, turn {turn}");
            assert!(wrong[2] > 0, "{name}: the test says nothing");
            // One text has two drafts in each pass, and all are right.
            let passes = found[0].ids.len() - right[0];
            assert!(!are_right || (wrong[0] <= 2 && 2 * passes <= found[0].ids.len()), "{name}: {passes} passes");
            lanes.rotate_left(1);
        }
    }
}
