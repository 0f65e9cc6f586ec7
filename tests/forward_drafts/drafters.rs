//! Drafters that are files of their own against llama.cpp, and the texts that they draft for. The files are made here,
//! as `tools/oracle/make_drafters.py` makes them.

use serde_json::Value as Json;
use webgguf::gguf::{Array, GgmlType, Gguf, TensorInfo};
use webgguf::model::{Drafter, ModelConfig};
use webgguf::runtime::Drafting;

use super::grammars::{Refuses, Request};
use super::mtp::{assert_close, assert_drafts_agree, assert_texts_are_the_same, fnv1a, ids_of, numbers, row, values};
use super::*;

/// A fixture, and what llama.cpp says of a drafter of it.
struct Case {
    name: &'static str,
    file: &'static [u8],
    expected: &'static str,
}

macro_rules! case {
    ($name:literal, $file:literal) => {
        Case {
            name: $name,
            file: include_bytes!(concat!("../fixtures/models/", $file, ".gguf")),
            expected: include_str!(concat!("../fixtures/drafters/", $name, ".json")),
        }
    };
}

/// EAGLE-3 with a vocabulary of its own; with an embedding of another width; with the model's embedding and head. An
/// assistant of a model with embeddings per layer, and one that is wider than its model. DFlash with a vocabulary of
/// its own; with all that its layers may have, of which some have a window; of a model with recurrent states.
static CASES: [Case; 8] = [
    case!("qwen3", "qwen3-q4_0"),
    case!("llama", "llama-f32"),
    case!("gpt-oss", "gpt-oss-mxfp4"),
    case!("gemma4-e", "gemma4-e-q8_0"),
    case!("gemma4", "gemma4-bf16"),
    case!("dflash-qwen3", "qwen3-q4_0"),
    case!("dflash-gemma4", "gemma4-bf16"),
    case!("dflash-qwen35", "qwen35-f32"),
];

/// A model with a drafter: its configuration, the header of both files, and the bytes that it speaks of.
struct Joined {
    config: ModelConfig,
    gguf: Gguf,
    bytes: Vec<u8>,
}

impl Case {
    fn expected(&self) -> Json {
        serde_json::from_str(self.expected).expect("JSON")
    }

    fn is_assistant(&self) -> bool {
        self.name.starts_with("gemma4")
    }

    fn is_block(&self) -> bool {
        self.name.starts_with("dflash")
    }

    /// The header of the drafter's file, and the bytes that it speaks of, behind the model's.
    fn drafter(&self) -> (Gguf, Vec<u8>) {
        let (expected, model) = (self.expected(), header(self.file));
        let of = &expected["of"];
        let config = webgguf::model::config(&model).expect("a known model");
        let mut gguf = Gguf { tensors: Vec::new(), ..model.clone() };
        let (name, keys, tensors) = match self.is_assistant() {
            _ if self.is_block() => ("dflash", block_keys(of, &config), block_tensors(of, &config)),
            true => ("gemma4-assistant", assistant_keys(of, &config), assistant_tensors(of, &config)),
            false => ("eagle3", eagle3_keys(of, &config), eagle3_tensors(of, &config)),
        };
        for (key, value) in keys {
            gguf.metadata.insert(format!("{name}.{key}"), value);
        }
        gguf.metadata.insert("general.architecture".to_owned(), Value::String(name.into()));
        gguf.metadata.insert("tokenizer.ggml.mask_token_id".to_owned(), Value::U32(7));
        let mut bytes = self.file.to_vec();
        let mut add = |name: &str, dims: Vec<u64>, data: Vec<u8>| {
            let (offset, size) = (bytes.len() as u64, data.len() as u64);
            gguf.tensors.push(TensorInfo { name: name.into(), ty: GgmlType::F32, dims, offset, bytes: size, part: 0 });
            bytes.extend(data);
        };
        for (name, dims) in tensors {
            let data = values(&name, dims[0] as usize, dims.get(1).map_or(0, |&rows| rows as usize));
            // Scores of assistants are not scaled.
            let divisor = if self.is_assistant() && name.contains("attn_q_norm") { 8.0 } else { 1.0 };
            let data: Vec<u8> = data.iter().flat_map(|value| (value / divisor).to_le_bytes()).collect();
            assert_eq!(Some(u64::from(fnv1a(&data))), expected["fnv1a"][&name].as_u64(), "{name}");
            add(&name, dims, data);
        }
        let ids: Vec<u8> =
            (0..of["own_vocab"].as_u64().unwrap_or(0)).flat_map(|id| (2 * id + 1).to_le_bytes()).collect();
        if !ids.is_empty() {
            add("d2t", vec![ids.len() as u64 / 4], ids);
        }
        (gguf, bytes)
    }

    fn joined(&self) -> Joined {
        let (draft, bytes) = self.drafter();
        let mut gguf = header(self.file);
        let config = webgguf::model::config(&gguf).expect("a known model");
        let config = Drafter::join(&mut gguf, 1, config, draft).expect("a drafter of this model");
        Joined { config, gguf, bytes }
    }
}

fn number(of: &Json, key: &str) -> u64 {
    of[key].as_u64().expect("a number")
}

fn word(value: u64) -> Value {
    Value::U32(value as u32)
}

fn list(of: &Json) -> Value {
    Value::Array(Array::I32(ids_of(of).into_iter().map(|of| of as i32).collect()))
}

fn eagle3_keys(of: &Json, model: &ModelConfig) -> Vec<(&'static str, Value)> {
    let number = |key: &str| word(number(of, key));
    vec![
        ("context_length", word(512)),
        ("embedding_length", number("width")),
        ("block_count", word(1)),
        ("feed_forward_length", number("ffn")),
        ("attention.head_count", number("heads")),
        ("attention.head_count_kv", number("kv_heads")),
        ("attention.key_length", number("head")),
        ("attention.value_length", number("head")),
        ("rope.dimension_count", number("head")),
        ("target_hidden_size", word(model.hidden as u64)),
        ("attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
        ("rope.freq_base", Value::F32(5000.0)),
        ("target_layers", list(&of["taps"])),
        ("norm_before_fc", Value::Bool(of["norm_fc"] == true)),
        ("norm_before_residual", Value::Bool(of["normed"] == true)),
    ]
}

fn assistant_keys(of: &Json, model: &ModelConfig) -> Vec<(&'static str, Value)> {
    let slides = ids_of(&of["slides"]);
    let (layers, number) = (word(slides.len() as u64), |key: &str| word(number(of, key)));
    vec![
        ("context_length", word(512)),
        ("embedding_length", number("width")),
        ("embedding_length_out", word(model.hidden as u64)),
        ("block_count", layers.clone()),
        ("nextn_predict_layers", layers.clone()),
        ("attention.shared_kv_layers", layers),
        ("feed_forward_length", list(&of["ffn"])),
        ("attention.head_count", list(&of["heads"])),
        ("attention.head_count_kv", list(&of["kv_heads"])),
        ("attention.key_length", number("head")),
        ("attention.value_length", number("head")),
        ("attention.key_length_swa", number("head_sliding")),
        ("attention.value_length_swa", number("head_sliding")),
        ("rope.dimension_count", number("head")),
        ("rope.dimension_count_swa", number("turned")),
        ("attention.sliding_window", number("window")),
        ("attention.sliding_window_pattern", Value::Array(Array::Bool(slides.iter().map(|&of| of == 1).collect()))),
        ("attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
        ("rope.freq_base", Value::F32(5000.0)),
        ("rope.freq_base_swa", Value::F32(700.0)),
    ]
}

fn block_keys(of: &Json, model: &ModelConfig) -> Vec<(&'static str, Value)> {
    let (slides, number) = (ids_of(&of["slides"]), |key: &str| word(number(of, key)));
    let mut keys = vec![
        ("context_length", word(512)),
        ("embedding_length", word(model.hidden as u64)),
        ("block_count", word(slides.len() as u64)),
        ("feed_forward_length", number("ffn")),
        ("attention.head_count", number("heads")),
        ("attention.head_count_kv", number("kv_heads")),
        ("attention.key_length", number("head")),
        ("attention.value_length", number("head")),
        ("rope.dimension_count", number("head")),
        ("block_size", word(8)),
        ("attention.sliding_window", number("window")),
        ("attention.sliding_window_pattern", Value::Array(Array::Bool(slides.iter().map(|&of| of == 1).collect()))),
        ("attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
        ("rope.freq_base", Value::F32(5000.0)),
        ("target_layers", list(&of["taps"])),
        ("attention.causal", Value::Bool(of["causal"] == true)),
    ];
    let names = ["embedding_scale", "attention.scale", "attention.value_scale"];
    keys.extend(names.into_iter().zip(numbers(&of["scales"])).map(|(name, scale)| (name, Value::F32(scale))));
    if of["more"] == true {
        keys.push(("hidden_activation", Value::String("gelu_pytorch_tanh".into())));
    }
    keys
}

/// Names and shapes of a drafter's tensors.
type Shapes = Vec<(String, Vec<u64>)>;

fn eagle3_tensors(of: &Json, model: &ModelConfig) -> Shapes {
    let number = |key: &str| number(of, key);
    let (width, ffn, vocab, hidden) = (number("width"), number("ffn"), model.vocab as u64, model.hidden as u64);
    let [q, kv] = ["heads", "kv_heads"].map(|heads| number(heads) * number("head"));
    let head = if number("own_vocab") > 0 { number("own_vocab") } else { vocab };
    let all = [
        (true, "blk.0.attn_norm", vec![width]),
        (true, "blk.0.attn_norm_2", vec![width]),
        (true, "blk.0.attn_q", vec![2 * width, q]),
        (true, "blk.0.attn_k", vec![2 * width, kv]),
        (true, "blk.0.attn_v", vec![2 * width, kv]),
        (true, "blk.0.attn_output", vec![q, width]),
        (true, "blk.0.ffn_norm", vec![width]),
        (true, "blk.0.ffn_gate", vec![width, ffn]),
        (true, "blk.0.ffn_up", vec![width, ffn]),
        (true, "blk.0.ffn_down", vec![ffn, width]),
        (true, "fc", vec![3 * hidden, width]),
        (true, "output_norm", vec![width]),
        (of["norm_fc"] == true, "enc.output_norm", vec![3 * hidden]),
        (of["embedding"] == true, "token_embd", vec![width, vocab]),
        (of["head_of_own"] == true, "output", vec![width, head]),
        (of["factors"] == true, "rope_freqs", vec![number("head") / 2]),
    ];
    let there = all.into_iter().filter(|(is_there, ..)| *is_there);
    there.map(|(_, name, dims)| (format!("{name}.weight"), dims)).collect()
}

fn assistant_tensors(of: &Json, model: &ModelConfig) -> Shapes {
    let number = |key: &str| number(of, key);
    let (width, vocab, hidden) = (number("width"), model.vocab as u64, model.hidden as u64);
    let mut all = vec![
        ("nextn.pre_projection.weight".to_owned(), vec![2 * hidden, width]),
        ("nextn.post_projection.weight".to_owned(), vec![width, hidden]),
        ("token_embd.weight".to_owned(), vec![width, vocab]),
        ("output_norm.weight".to_owned(), vec![width]),
        ("rope_freqs.weight".to_owned(), vec![number("head") / 2]),
    ];
    let lists = ["slides", "heads", "ffn"].map(|key| ids_of(&of[key]).into_iter().map(u64::from).collect::<Vec<_>>());
    for (layer, &slides) in lists[0].iter().enumerate() {
        let head = if slides == 1 { number("head_sliding") } else { number("head") };
        let (q, ffn) = (lists[1][layer] * head, lists[2][layer]);
        let own = [
            ("attn_norm", vec![width]),
            ("attn_q", vec![width, q]),
            ("attn_q_norm", vec![head]),
            ("attn_output", vec![q, width]),
            ("post_attention_norm", vec![width]),
            ("ffn_norm", vec![width]),
            ("ffn_gate", vec![width, ffn]),
            ("ffn_up", vec![width, ffn]),
            ("ffn_down", vec![ffn, width]),
            ("post_ffw_norm", vec![width]),
            ("layer_output_scale", vec![1]),
        ];
        all.extend(own.map(|(name, dims)| (format!("blk.{layer}.{name}.weight"), dims)));
    }
    all
}

fn block_tensors(of: &Json, model: &ModelConfig) -> Shapes {
    let number = |key: &str| number(of, key);
    let (ffn, head, width) = (number("ffn"), number("head"), model.hidden as u64);
    let [q, kv] = ["heads", "kv_heads"].map(|heads| number(heads) * head);
    let vocab = if number("own_vocab") > 0 { number("own_vocab") } else { model.vocab as u64 };
    let (taps, more) = (ids_of(&of["taps"]).len() as u64, of["more"] == true);
    let own = [
        (true, "attn_norm", vec![width]),
        (true, "attn_q", vec![width, q]),
        (true, "attn_k", vec![width, kv]),
        (of["values"] == true, "attn_v", vec![width, kv]),
        (true, "attn_q_norm", vec![head]),
        (true, "attn_k_norm", vec![head]),
        (true, "attn_output", vec![q, width]),
        (true, "ffn_norm", vec![width]),
        (true, "ffn_gate", vec![width, ffn]),
        (true, "ffn_up", vec![width, ffn]),
        (true, "ffn_down", vec![ffn, width]),
        (more, "post_attention_norm", vec![width]),
        (more, "post_ffw_norm", vec![width]),
        (more, "layer_output_scale", vec![1]),
        (more, "attn_sinks", vec![number("heads")]),
    ];
    let layers = 0..ids_of(&of["slides"]).len();
    let of_layer = |layer| own.iter().map(move |(is_there, name, dims)| (is_there, layer, name, dims));
    let of_layers = layers.flat_map(of_layer).filter(|(is_there, ..)| **is_there);
    let all = [
        (true, "fc", vec![taps * width, width]),
        (true, "output_norm", vec![width]),
        (true, "enc.output_norm", vec![width]),
        (of["embedding"] == true, "token_embd", vec![width, vocab]),
        (of["head_of_own"] == true, "output", vec![width, vocab]),
        (of["factors"] == true, "rope_freqs", vec![head / 2]),
    ];
    let there = all.into_iter().filter(|(is_there, ..)| *is_there);
    let further = there.map(|(_, name, dims)| (format!("{name}.weight"), dims));
    let named = |(_, layer, name, dims): (_, _, _, &Vec<u64>)| (format!("blk.{layer}.{name}.weight"), dims.clone());
    of_layers.map(named).chain(further).collect()
}

async fn session_of(Joined { config, gguf, bytes }: Joined, room: Room) -> GpuSession {
    let device = device().await;
    let matched = match_tensors(&config, &gguf.tensors).expect("all tensors");
    let caps = device.caps.clone().with_precision(Precision::Exact);
    let room = room.with_drafts(true);
    let mut builder = GpuModelBuilder::new(device, caps, config, room, &gguf.tensors, matched).expect("room");
    put_weights(&mut builder, &bytes, &gguf);
    builder.finish().await.expect("command lists")
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn drafters_agree_with_llama_cpp() {
    for case in &CASES {
        let session = session_of(case.joined(), Room::one(CONTEXT)).await;
        match case.is_block() {
            true => assert_blocks_agree(case, session).await,
            false => assert_drafts_agree(case.name, session, &case.expected()).await,
        }
    }
}

/// The same of a drafter that drafts several tokens at once: of blocks of several sizes, before and after a pass that
/// accepts some of a draft.
async fn assert_blocks_agree(case: &Case, session: GpuSession) {
    let (name, expected) = (case.name, case.expected());
    let vocab = match number(&expected["of"], "own_vocab") as usize {
        0 => webgguf::model::config(&header(case.file)).expect("a known model").vocab,
        own => own,
    };
    let compare = |what: &str, found: &[f32], expected: &Json| {
        let rows = expected.as_array().expect("rows");
        for (at, expected) in rows.iter().enumerate() {
            let found = &found[(at + 1) * vocab..][..vocab];
            let found: Vec<f32> = ids_of(&expected["ids"]).iter().map(|&id| found[id as usize]).collect();
            assert_close(&format!("{name}, {what}, row {at}"), &found, &numbers(&expected["logits"]));
        }
        rows.len()
    };
    let (text, next) = (ids_of(&expected["text"]), number(&expected, "next") as u32);
    let (middle, last) = (number(&expected, "middle") as usize, text.len() - 1);
    let mut session = FewRows::new(session);
    session.read_sequence(0, 0, &text[..middle]).await.expect("a working device");
    let (_, found) = session.drafts_after(Some(row(text[middle], middle)), 3).await.expect("a working device");
    assert_eq!(compare("within the text", &found, &expected["middle_logits"]), 3);
    session.read_sequence(0, middle, &text[middle..last]).await.expect("a working device");
    let logits = session.logits_of_rows(&[row(text[last], last)]).await.expect("a working device");
    assert_eq!(argmax(&logits), next as usize, "{name}");
    for (steps, of) in [1, 7].into_iter().zip(expected["of_sizes"].as_array().expect("blocks")) {
        let (_, found) = session.drafts_after(Some(row(next, last + 1)), steps).await.expect("a working device");
        assert_eq!(compare(&format!("draft of {steps}"), &found, of), steps);
    }
    let (ids, found) = session.drafts_after(Some(row(next, last + 1)), 3).await.expect("a working device");
    compare("draft of 3", &found, &expected["draft_logits"]);
    assert_eq!(ids, ids_of(&expected["drafts"]), "{name}");
    let (accepted, checked) = (number(&expected, "accepted") as usize, ids_of(&expected["checked"]));
    assert_eq!(session.accepted().await.expect("a working device"), checked[..=accepted], "{name}");
    let (ids, found) = session.drafts_after(None, 3).await.expect("a working device");
    compare("after a draft that was right", &found, &expected["draft_again"]);
    assert_eq!(ids, ids_of(&expected["drafts_again"]), "{name}");
}

/// A text is what it is without drafts, greedy, sampled and under a grammar; most drafts are wrong, as the weights are
/// random.
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn texts_that_a_drafter_drafts_for_are_the_same() {
    for case in [&CASES[0], &CASES[1], &CASES[3], &CASES[5], &CASES[7]] {
        let expected = case.expected();
        let mut engine = engine_of(AnySession::of_gpu(session_of(case.joined(), Room::one(CONTEXT)).await), case.file);
        engine.check_drafting(Drafting::Model).expect("a drafter");
        let error = engine.check_drafting(Drafting::Mtp).expect_err("no block of the model's own");
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
        let prompt = ids_of(&expected["text"]);
        assert_texts_are_the_same(case.name, &mut engine, &prompt, Drafting::Model).await;
        let options = few_tokens(SamplingOptions::default(), &[5, 9], 60);
        let request = Request(prompt, options, Some(Refuses::Some));
        let counts = request.compare("drafter", &mut engine, Drafting::Model).await;
        assert!(counts != [0, 0], "{}: the test says nothing", case.name);
    }
}

/// Three lanes write with drafts what each writes alone without. The drafter's weights are zeros, so it drafts one
/// token, which is right in some texts.
#[wasm_bindgen_test(unsupported = pollster::test)]
async fn lanes_that_a_drafter_drafts_for_write_what_each_writes_alone() {
    for case in [&CASES[0], &CASES[1], &CASES[3], &CASES[5], &CASES[7]] {
        let room = Room::one(CONTEXT).for_requests(3);
        let mut joined = case.joined();
        joined.bytes[case.file.len()..].fill(0);
        let mut lanes = vec![engine_of(AnySession::of_gpu(session_of(joined, room).await), case.file)];
        for _ in 1..3 {
            lanes.push(lanes[0].another(false).await.expect("a lane"));
        }
        let mut requests = model_lanes::requests(lanes[0].session.config().vocab, 30);
        requests.truncate(3);
        requests[0].1.biases = vec![(0, 90.0)];
        requests[1].1.biases = vec![(0, 60.0), (9, 59.5)];
        let alone = model_lanes::alone(&mut lanes[0], &requests).await;
        let found = model_lanes::at_once(&mut lanes, &requests, &[Drafting::Model]).await;
        let [right, wrong] = model_lanes::counts(&found);
        console_log!("{}: {right:?} drafts were right, {wrong:?} wrong", case.name);
        assert_eq!(model_lanes::ids_of(&found), alone, "{}", case.name);
        assert!(right[0] > 0 && wrong[2] > 0, "{}: the test says nothing", case.name);
    }
}
