//! Blocks for multi-token prediction of models with experts, against llama.cpp. A block is made here of a fixture, as
//! `tools/oracle/make_blocks.py` makes it.

use serde_json::Value as Json;
use webgguf::gguf::{GgmlType, Gguf, TensorInfo};
use webgguf::runtime::Drafting;

use super::mtp::{assert_drafts_agree, fnv1a, session_of, values};
use super::*;

/// A fixture, what llama.cpp says, and the layers whose tensors the block has.
struct Case {
    name: &'static str,
    file: &'static [u8],
    expected: &'static str,
    layers: &'static [usize],
}

macro_rules! case {
    ($name:literal, $file:literal, $layers:expr) => {
        Case {
            name: $name,
            file: include_bytes!(concat!("../fixtures/models/", $file, ".gguf")),
            expected: include_str!(concat!("../fixtures/mtp/", $name, ".json")),
            layers: &$layers,
        }
    };
}

/// Experts behind gated attention, behind latent attention and behind a window; of a layer of attention and one of
/// experts without gates.
static CASES: [Case; 4] = [
    case!("qwen35moe", "qwen35moe-f32", [1]),
    case!("deepseek2", "deepseek2-f16", [1]),
    case!("mellum", "mellum-f16", [0]),
    case!("nemotron_h_moe", "nemotron_h_moe-f16", [1, 2]),
];

impl Case {
    fn expected(&self) -> Json {
        serde_json::from_str(self.expected).expect("JSON")
    }

    /// Names behind `blk.N.` and shapes. A name that the first layer has, too, is the norm between the two.
    fn tensors(&self, gguf: &Gguf, hidden: u64) -> Vec<(String, Vec<u64>)> {
        let mut found: Vec<(String, Vec<u64>)> = Vec::new();
        for layer in self.layers {
            let prefix = format!("blk.{layer}.");
            for tensor in &gguf.tensors {
                let Some(rest) = tensor.name.strip_prefix(&prefix) else { continue };
                let is_there = found.iter().any(|(name, _)| name == rest);
                found.push((if is_there { "post_attention_norm.weight" } else { rest }.into(), tensor.dims.clone()));
            }
        }
        found.push(("nextn.eh_proj.weight".into(), vec![2 * hidden, hidden]));
        let norms = ["enorm", "hnorm", "shared_head_norm"].map(|norm| format!("nextn.{norm}.weight"));
        found.extend(norms.map(|name| (name, vec![hidden])));
        found
    }

    /// The header with the block, and the bytes that it speaks of.
    fn with_block(&self) -> (Gguf, Vec<u8>) {
        let (mut gguf, mut bytes, expected) = (header(self.file), self.file.to_vec(), self.expected());
        let config = webgguf::model::config(&gguf).expect("a known model");
        let key = |key: &str| format!("{}.{key}", config.architecture);
        let own: Vec<String> = gguf.metadata.keys().filter(|name| name.starts_with(&key(""))).map(Into::into).collect();
        for name in own {
            let layer = self.layers[if name.contains(".attention.") { 0 } else { self.layers.len() - 1 }];
            let longer = match gguf.metadata.get(&name) {
                Some(Value::Array(Array::I32(each))) if each.len() == config.layers => {
                    Array::I32([&each[..], &[each[layer]]].concat())
                }
                Some(Value::Array(Array::U32(each))) if each.len() == config.layers => {
                    Array::U32([&each[..], &[each[layer]]].concat())
                }
                Some(Value::Array(Array::Bool(each))) if each.len() == config.layers => {
                    Array::Bool([&each[..], &[each[layer]]].concat())
                }
                _ => continue,
            };
            gguf.metadata.insert(name, Value::Array(longer));
        }
        gguf.metadata.insert(key("block_count"), Value::U32(config.layers as u32 + 1));
        gguf.metadata.insert(key("nextn_predict_layers"), Value::U32(1));
        for (rest, dims) in self.tensors(&gguf, config.hidden as u64) {
            let name = format!("blk.{}.{rest}", config.layers);
            let rows = if dims.len() > 1 { dims[1..].iter().product::<u64>() as usize } else { 0 };
            let data: Vec<u8> =
                values(&name, dims[0] as usize, rows).iter().flat_map(|value| value.to_le_bytes()).collect();
            assert_eq!(Some(u64::from(fnv1a(&data))), expected["fnv1a"][&name].as_u64(), "{name}");
            let (offset, size) = (bytes.len() as u64, data.len() as u64);
            gguf.tensors.push(TensorInfo { name, ty: GgmlType::F32, dims, offset, bytes: size, part: 0 });
            bytes.extend(data);
        }
        (gguf, bytes)
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn blocks_of_models_with_experts_agree_with_llama_cpp() {
    for case in &CASES {
        let session = session_of(case.with_block(), Room::one(CONTEXT)).await;
        assert_drafts_agree(case.name, session, &case.expected()).await;
    }
}

/// Three lanes write with drafts of a block what each writes alone without, past the window of a block that has one.
/// Its weights are zeros, so it drafts token 0, which is right in some texts.
async fn compare_lanes(cases: &[Case]) {
    for case in cases {
        let room = Room::one(CONTEXT).for_requests(3);
        let (gguf, mut bytes) = case.with_block();
        bytes[case.file.len()..].fill(0);
        let mut lanes = vec![engine_of(AnySession::of_gpu(session_of((gguf, bytes), room).await), case.file)];
        lanes[0].check_drafting(Drafting::Mtp).expect("a block that drafts");
        for _ in 1..3 {
            lanes.push(lanes[0].another(false).await.expect("a lane"));
        }
        let mut requests = model_lanes::requests(lanes[0].session.config().vocab, 30);
        requests.truncate(3);
        requests[0].1.biases = vec![(0, 90.0)];
        requests[1].1.biases = vec![(0, 60.0), (9, 59.5)];
        let alone = model_lanes::alone(&mut lanes[0], &requests).await;
        let found = model_lanes::at_once(&mut lanes, &requests, &[Drafting::Mtp]).await;
        let [right, wrong] = model_lanes::counts(&found);
        console_log!("{}: {right:?} drafts were right, {wrong:?} wrong", case.name);
        assert_eq!(model_lanes::ids_of(&found), alone, "{}", case.name);
        // How many there are is a matter of time: drafts end where they do not pay.
        assert!(right[0] > 0 && wrong[2] > 0, "{}: the test says nothing", case.name);
    }
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn lanes_write_the_same_with_a_block_that_has_experts() {
    compare_lanes(&CASES[1..3]).await;
}

#[wasm_bindgen_test(unsupported = pollster::test)]
#[ignore = "takes long: npm test -- --all"]
async fn lanes_write_the_same_with_a_block_of_any_experts() {
    compare_lanes(&CASES[..1]).await;
    compare_lanes(&CASES[3..]).await;
}
