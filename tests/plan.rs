//! The command lists of a Llama-1B-shaped model, without a device: how many dispatches, which variants, how many bytes.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/tiny.rs"]
mod tiny;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use webgguf::ErrorCode;
use webgguf::forward::{Buffers, Forward, Plan, Room, Weights, place};
use webgguf::gguf::{GgmlType, TensorInfo, Value};
use webgguf::kernels::caps::{Caps, MatrixShape, Precision};
use webgguf::kernels::kv_type::KvType;
use webgguf::kernels::spec::Dispatch;
use webgguf::model::ModelConfig;
use webgguf::model::program::{Program, of_layer};
use webgguf::model::{Role, match_tensors, weight_specs};

const CONTEXT: usize = 4096;

fn config() -> ModelConfig {
    let mut metadata = tiny::metadata("llama");
    let numbers = [
        ("block_count", 16),
        ("context_length", 8192),
        ("embedding_length", 2048),
        ("feed_forward_length", 8192),
        ("attention.head_count", 32),
        ("attention.head_count_kv", 8),
    ];
    for (key, number) in numbers {
        metadata.insert(format!("llama.{key}"), Value::U32(number));
    }
    let mut header = tiny::header(metadata);
    header.tensors.iter_mut().for_each(|tensor| tensor.dims[0] = 2048);
    webgguf::model::config(&header).expect("a good header")
}

/// Every tensor of the model, matrices in the type that `ty` says.
fn tensors(config: &ModelConfig, ty: impl Fn(Role) -> GgmlType) -> Vec<TensorInfo> {
    let specs = weight_specs(config);
    let optional = |name: &str| specs.iter().any(|spec| spec.name == name && spec.optional);
    let mut tensors = tiny::typed_tensors(config, ty);
    tensors.retain(|tensor| !optional(&tensor.name));
    tensors
}

struct Model {
    program: Program,
    caps: Caps,
    weights: Weights,
    buffers: Buffers,
    plan: Plan,
    file_bytes: u64,
}

fn model(caps: Caps, ty: impl Fn(Role) -> GgmlType) -> Model {
    let config = config();
    let tensors = tensors(&config, ty);
    let mut plan = Plan::default();
    let matched = match_tensors(&config, &tensors).expect("all tensors");
    let program = webgguf::model::program(&config);
    let weights = place(&program, &caps, &tensors, matched, &mut plan).expect("room").weights;
    let buffers = Buffers::alloc(&program, config.vocab, Room::one(CONTEXT), &mut plan);
    let file_bytes = tensors.iter().map(|tensor| tensor.bytes).sum();
    Model { program, caps, weights, buffers, plan, file_bytes }
}

impl Model {
    fn forward(&self) -> Forward<'_> {
        Forward::new(&self.program, &self.caps, &self.weights, &self.buffers)
    }

    fn token(&self) -> Vec<Dispatch> {
        let forward = self.forward();
        forward.decode(1).into_iter().chain(forward.sample(1)).collect()
    }
}

fn large() -> Caps {
    Caps { max_binding: 2 << 30, max_buffer: 4 << 30, ..Caps::baseline() }
}

#[test]
fn a_token_takes_six_dispatches_per_layer_and_four_to_six_more() {
    let model = model(large(), |_| GgmlType::Q4_0);
    assert_eq!(model.token().len(), 16 * 6 + 6, "sampled");
    assert_eq!(model.forward().decode(1).len() + model.forward().greedy(1).len(), 16 * 6 + 4);
}

#[test]
fn only_mixed_types_cost_one_dispatch_more() {
    // As Q4_K_M files have it: v in Q6_K, so q·k and v are two products.
    let model = model(large(), |role| if role == Role::AttnV { GgmlType::Q6_K } else { GgmlType::Q4_K });
    assert_eq!(model.token().len(), 16 * 7 + 6);
}

#[test]
fn the_gpu_holds_the_file_the_cache_and_little_more() {
    for ty in [GgmlType::Q4_0, GgmlType::Q4_K, GgmlType::Q8_0] {
        let model = model(large(), |_| ty);
        let cache = 2 * 16 * 8 * 64 * CONTEXT as u64 * 2;
        let most = model.file_bytes * 103 / 100 + cache + 150_000_000;
        assert!(model.plan.bytes() <= most, "{ty:?}: {} bytes, at most {most}", model.plan.bytes());
    }
}

fn session(room: Room) -> (Buffers, u64) {
    let config = config();
    let mut plan = Plan::default();
    let buffers = Buffers::alloc(&webgguf::model::program(&config), config.vocab, room, &mut plan);
    (buffers, plan.bytes())
}

#[test]
fn a_cache_takes_what_its_type_and_the_text_need() {
    let of = |kv_type| session(Room { kv_type, ..Room::one(8192) }).1;
    // Rows of 64 values: 128, 72 or 36 bytes for keys and values of 8 heads in 16 layers.
    let rows = 2 * 8 * 16 * 4096;
    assert_eq!(of(KvType::F16) - of(KvType::Q8_0), (128 - 72) * rows);
    assert_eq!(of(KvType::Q8_0) - of(KvType::Q4_0), (72 - 36) * rows);
    // At first there is room for half of 8,192 positions.
    let (buffers, bytes) = session(Room::one(8192));
    let (whole, all) = session(Room::one(8192).whole());
    assert_eq!(all - bytes, 128 * rows);
    let growth = buffers.grown(8192, 3000);
    assert_eq!(growth.bytes(), 2 * 128 * rows);
    assert_eq!(growth.moved.iter().map(|moved| moved.bytes).sum::<u64>(), 128 * 2 * 8 * 16 * 3000);
    assert_eq!(growth.buffers.cache[3].heads, whole.cache[3].heads);
}

#[test]
fn a_cache_that_no_binding_holds_once_it_is_whole_is_refused() {
    let (buffers, _) = session(Room { kv_type: KvType::Q8_0, ..Room::one(8192) });
    let whole = 8 * 8192 * 72;
    assert_eq!(buffers.check_caches(whole), Ok(()));
    let error = buffers.check_caches(whole / 2).unwrap_err();
    assert_eq!(error.code(), ErrorCode::LimitExceeded);
    let message = "the keys of a layer take 4718592 bytes for a context of 8192 tokens as q8_0, a binding of this \
                device \
                   holds 2359296: 4096 tokens";
    assert_eq!(error.message(), message);
}

#[test]
fn nothing_is_bound_past_the_limits_of_any_device() {
    // 16 MiB, far below what WebGPU guarantees, so that matrices of this model are cut.
    let caps = Caps { max_binding: 16 << 20, ..Caps::baseline() };
    let model = model(caps, |_| GgmlType::Q8_0);
    let projection = |role| &model.weights.projections[&of_layer(0, role)];
    assert_eq!(projection(Role::FfnGate).len(), 2, "gate and up do not fit one binding");
    let down = &projection(Role::FfnDown)[0].matrix;
    assert!(down.shards.len() > 1, "down is cut by rows");
    let rows: u32 = down.shards.iter().map(|shard| shard.rows).sum();
    assert_eq!(rows, down.rows);
    let of = |id| model.plan.buffers.iter().find(|spec| spec.id == id).expect("allocated").bytes;
    for shard in &down.shards {
        assert!(of(shard.buffer) <= 16 << 20);
    }
}

#[test]
fn a_row_larger_than_a_binding_is_an_error_with_both_numbers() {
    let config = config();
    let tensors = tensors(&config, |_| GgmlType::F32);
    let matched = match_tensors(&config, &tensors).expect("all tensors");
    let caps = Caps { max_binding: 4096, ..Caps::baseline() };
    let error = place(&webgguf::model::program(&config), &caps, &tensors, matched, &mut Plan::default())
        .err()
        .expect("refused");
    assert_eq!(error.code().as_str(), "limit_exceeded");
    assert!(error.message().contains("8192") && error.message().contains("4096"), "{error}");
}

/// The variants that each device gets, held by `tests/fixtures/variants.txt`. After a change on purpose, write it anew
/// with `WEBGGUF_BLESS=1 cargo test --test plan`.
#[test]
fn every_device_gets_the_variants_of_the_snapshot() {
    let device = |vendor: &str, f16, subgroups, subgroup_size| {
        let caps = Caps { f16, subgroups, subgroup_size, dot4: true, vendor: vendor.into(), ..large() };
        caps.with_precision(Precision::Auto)
    };
    let with_matrices = |vendor, shape: usize| {
        let subgroup_matrix = Some(MatrixShape::ALL[shape]);
        Caps { subgroup_matrix, workgroup_memory: 48 << 10, ..device(vendor, true, true, (32, 32)) }
            .with_precision(Precision::Auto)
    };
    let devices = [
        ("Apple", device("apple", true, true, (32, 32))),
        ("Intel", device("intel", true, true, (8, 32))),
        ("AMD", device("amd", true, true, (32, 64))),
        ("NVIDIA", device("nvidia", true, true, (32, 32))),
        ("NVIDIA without f16", device("nvidia", false, true, (32, 32))),
        ("NVIDIA with subgroup matrices", with_matrices("nvidia", 0)),
        ("Apple with subgroup matrices", with_matrices("apple", 2)),
        ("Qualcomm", device("qualcomm", true, true, (64, 128))),
        ("SwiftShader", device("google", false, true, (4, 4))),
        ("any device", Caps::baseline()),
    ];
    let mut text = String::new();
    for (name, caps) in devices {
        let model = model(caps, |role| if role == Role::AttnV { GgmlType::Q6_K } else { GgmlType::Q4_K });
        let lists = [model.forward().prefill(), model.token(), model.forward().greedy(1)].concat();
        let ids: BTreeSet<String> = lists.iter().map(|dispatch| dispatch.kernel.id.clone()).collect();
        let _ = writeln!(text, "{name}\n  {}", ids.into_iter().collect::<Vec<_>>().join("\n  "));
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/variants.txt");
    if std::env::var_os("WEBGGUF_BLESS").is_some() {
        std::fs::write(file, &text).expect("a writable snapshot");
    }
    assert_eq!(text, std::fs::read_to_string(file).unwrap_or_default(), "the choice of variants changed");
}
