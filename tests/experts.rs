//! Mixtures of experts without a device: what decode reads of them, how their matrices are cut, and which numbers of a
//! file are refused.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/tiny.rs"]
mod tiny;

use std::collections::BTreeSet;

use webgguf::ErrorCode;
use webgguf::forward::{Buffers, Forward, Plan, Room, Weights, place};
use webgguf::gguf::{GgmlType, Value};
use webgguf::kernels::caps::Caps;
use webgguf::kernels::layout::Matrix;
use webgguf::kernels::spec::{BufferId, Dispatch};
use webgguf::model::program::Program;
use webgguf::model::{ModelConfig, match_tensors};

const EXPERTS: u32 = 32;
const USED: u32 = 4;
const FFN: u32 = 768;

fn config(architecture: &str, changes: &[(&str, u32)]) -> webgguf::Result<ModelConfig> {
    let mut metadata = tiny::metadata(architecture);
    let numbers = [
        ("embedding_length", 2048),
        ("attention.key_length", 64),
        ("attention.value_length", 64),
        ("expert_count", EXPERTS),
        ("expert_used_count", USED),
        ("expert_feed_forward_length", FFN),
    ];
    for &(key, number) in numbers.iter().chain(changes) {
        metadata.insert(format!("{architecture}.{key}"), Value::U32(number));
    }
    let mut header = tiny::header(metadata);
    header.tensors.iter_mut().for_each(|tensor| tensor.dims[0] = 2048);
    webgguf::model::config(&header)
}

struct Model {
    program: Program,
    weights: Weights,
    buffers: Buffers,
}

fn model(config: &ModelConfig, caps: &Caps, ty: GgmlType) -> webgguf::Result<Model> {
    let tensors = tiny::typed_tensors(config, |_| ty);
    let matched = match_tensors(config, &tensors)?;
    let (program, mut plan) = (webgguf::model::program(config), Plan::default());
    let weights = place(&program, caps, &tensors, matched, &mut plan)?.weights;
    let buffers = Buffers::alloc(&program, config.vocab, Room { sequences: 2, rows: 2, ..Room::one(4096) }, &mut plan);
    Ok(Model { program, weights, buffers })
}

fn decode(model: &Model, caps: &Caps, rows: u32) -> Vec<Dispatch> {
    Forward::new(&model.program, caps, &model.weights, &model.buffers).decode(rows)
}

fn matrices(model: &Model) -> Vec<&Matrix> {
    model.weights.experts.values().flatten().map(|part| &part.matrix).collect()
}

fn constant(dispatch: &Dispatch, name: &str) -> u64 {
    dispatch.kernel.constants.iter().find(|(n, _)| *n == name).map_or(0, |(_, value)| *value as u64)
}

/// Bytes of weights that a dispatch of `mat_vec_experts` reads: its workgroups times their rows.
fn bytes_read(dispatch: &Dispatch, ty: GgmlType) -> u64 {
    let [groups, entries, _] = dispatch.grid.map(|extent| u64::from(extent.resolve(1)));
    let [cols, rows, per_group, top] = ["COLS", "ROWS", "ROWS_PER_GROUP", "TOP"].map(|name| constant(dispatch, name));
    let of_matrix = rows * (1 + constant(dispatch, "PAIRED"));
    // Rows past the end repeat the last.
    let rows = (groups * per_group).min(of_matrix);
    let choices = if constant(dispatch, "SUM") == 1 { top } else { 1 };
    rows * entries * choices * cols / ty.block_len() as u64 * ty.block_bytes() as u64
}

#[test]
fn decode_reads_the_chosen_experts_and_no_others() {
    let subgroups = Caps { subgroups: true, subgroup_size: (32, 32), ..Caps::baseline() };
    for (architecture, caps, rows) in [("qwen3moe", Caps::baseline(), 1), ("gpt-oss", subgroups, 2)] {
        let config = config(architecture, &[]).expect("a good header");
        for ty in [GgmlType::Q4_0, GgmlType::Q8_0] {
            let model = model(&config, &caps, ty).expect("room");
            let of_experts: BTreeSet<BufferId> =
                matrices(&model).iter().flat_map(|matrix| matrix.shards.iter().map(|shard| shard.buffer)).collect();
            let list = decode(&model, &caps, rows);
            let reads = list.iter().filter(|dispatch| dispatch.buffers.iter().any(|b| of_experts.contains(&b.buffer)));
            let reads: Vec<&Dispatch> = reads.collect();
            assert!(reads.iter().all(|dispatch| dispatch.kernel.spec.kernel_name == "mat_vec_experts"));
            // Gate and up, and down, in each of two layers.
            assert_eq!(reads.len(), 4, "{architecture}");
            let of_expert = 3 * u64::from(FFN) * 2048 / ty.block_len() as u64 * ty.block_bytes() as u64;
            let expected = 2 * u64::from(rows * USED) * of_expert;
            let found: u64 = reads.iter().map(|dispatch| bytes_read(dispatch, ty)).sum();
            assert_eq!(found, expected, "{architecture} reads {found} bytes of experts, {expected} are chosen");
        }
    }
}

#[test]
fn few_dispatches_run_a_layer_with_experts() {
    let config = config("gpt-oss", &[]).expect("a good header");
    let model = model(&config, &Caps::baseline(), GgmlType::Q8_0).expect("room");
    let list = decode(&model, &Caps::baseline(), 1);
    let names: Vec<&str> = list.iter().map(|dispatch| dispatch.kernel.spec.kernel_name).collect();
    let experts = ["norm", "mat_vec", "route", "mat_vec_experts", "mat_vec_experts"];
    let layer = names.windows(5).filter(|names| names.iter().zip(experts).all(|(a, b)| a.starts_with(b))).count();
    assert_eq!(layer, 2, "{names:?}");
}

#[test]
fn matrices_larger_than_a_binding_are_cut_between_experts() {
    let config = config("qwen3moe", &[]).expect("a good header");
    // Room for seven of them and a half.
    let of_expert = 2 * u64::from(FFN) * 2048 / 32 * 18;
    let caps = Caps { max_binding: of_expert * 15 / 2, ..Caps::baseline() };
    let model = model(&config, &caps, GgmlType::Q4_0).expect("room");
    let cut = matrices(&model).into_iter().filter(|matrix| matrix.shards.len() > 1).collect::<Vec<_>>();
    assert!(!cut.is_empty());
    for matrix in cut {
        let rows = matrix.rows / EXPERTS;
        for shard in &matrix.shards {
            assert!(shard.first_row.is_multiple_of(rows) && shard.rows.is_multiple_of(rows), "{shard:?} of {rows}");
            assert!(matrix.layout(shard).bytes() <= caps.max_binding);
        }
    }
    let too_small = Caps { max_binding: of_expert / 2, ..Caps::baseline() };
    let refused = self::model(&config, &too_small, GgmlType::Q4_0).err().expect("no room for an expert");
    assert_eq!(refused.code(), ErrorCode::LimitExceeded, "{refused}");
    assert!(refused.message().contains("an expert of blk.0.ffn_"), "{refused}");
}

#[test]
fn refuses_numbers_that_make_no_sense() {
    for (change, code, parts) in [
        (("expert_count", 513), ErrorCode::BadFile, ["expert_count", "512"]),
        (("expert_used_count", EXPERTS + 1), ErrorCode::BadFile, ["expert_used_count", "16"]),
        (("expert_used_count", 17), ErrorCode::BadFile, ["expert_used_count", "17"]),
        (("expert_used_count", 0), ErrorCode::BadFile, ["expert_used_count", "missing"]),
        (("expert_count", 0), ErrorCode::BadFile, ["expert_used_count", "0 to 0"]),
        (("expert_feed_forward_length", 0), ErrorCode::BadFile, ["experts activated", "found 0"]),
        (("expert_feed_forward_length", 1 << 20), ErrorCode::BadFile, ["expert_feed_forward_length", "65536"]),
        (("expert_group_count", 4), ErrorCode::BadFile, ["expert_group_count", "0 of 4 groups of 32 experts"]),
        (("expert_gating_func", 4), ErrorCode::UnsupportedArchitecture, ["expert_gating_func", "4"]),
    ] {
        let error = config("qwen3moe", &[change]).expect_err("must be refused");
        assert_eq!(error.code(), code, "{error}");
        assert!(parts.iter().all(|part| error.message().contains(part)), "{parts:?} not in {error}");
    }
}
