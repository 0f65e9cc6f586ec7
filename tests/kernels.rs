//! Every kernel case on a WebGPU device: `wasm-pack test --headless --chrome -- --features harness`.
#![cfg(all(target_arch = "wasm32", feature = "harness"))]

use std::collections::BTreeMap;

use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};
use webgguf::gpu::{BufferTable, CommandList, Gpu};
use webgguf::harness::{Case, cases};

wasm_bindgen_test_configure!(run_in_browser);

async fn output(gpu: &Gpu, case: &Case) -> Vec<u8> {
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let mut table = BufferTable::default();
    for (id, bytes) in &case.buffers {
        let buffer = gpu.buffer("case", bytes.len() as u64, usage).expect("a small buffer");
        gpu.queue.write_buffer(&buffer, 0, bytes);
        table.insert(*id, buffer);
    }
    let list = CommandList::record(gpu, &case.dispatches, &table).expect("small parameters");
    let mut encoder = gpu.device.create_command_encoder(&Default::default());
    list.replay(&mut encoder.begin_compute_pass(&Default::default()), case.state.count);
    gpu.queue.submit([encoder.finish()]);
    let found = gpu.read(table.get(case.output), 0, case.expected.bytes() as u64).await;
    let found = found.unwrap_or_else(|error| panic!("{} ({}): {error}", case.variant, case.name));
    case.buffers.iter().for_each(|(id, _)| gpu.destroy_buffer(table.get(*id)));
    list.destroy(gpu);
    found
}

/// Runs the cases of the stems, or says which failed and how.
async fn run(stems: &[&str]) {
    let gpu = Gpu::open().await.expect("a WebGPU device");
    let mut seen = BTreeMap::new();
    let mut failures = Vec::new();
    let runs = |case: &Case| stems.contains(&case.stem) && case.needs.is_none();
    for case in cases(&gpu.caps).into_iter().filter(runs) {
        let outcome = case.check(&output(&gpu, &case).await);
        let (count, worst) = seen.entry(case.variant.clone()).or_insert((0u32, 0f32));
        *count += 1;
        *worst = worst.max(outcome.of_limit);
        failures.extend(case.failure(&outcome));
    }
    for (variant, (count, worst)) in &seen {
        console_log!("{variant}: {count} cases, largest error {worst:.3} of what is tolerated");
    }
    for stem in stems {
        assert!(seen.keys().any(|variant| variant.split('.').next() == Some(*stem)), "{stem} has no case");
    }
    assert!(failures.is_empty(), "{} cases failed:\n{}", failures.len(), failures.join("\n"));
}

#[wasm_bindgen_test]
async fn repack_and_gather() {
    run(&["repack", "gather"]).await;
}

#[wasm_bindgen_test]
async fn mat_vec() {
    run(&["mat_vec"]).await;
}

#[wasm_bindgen_test]
async fn mat_mul() {
    run(&["mat_mul"]).await;
}

#[wasm_bindgen_test]
async fn norms_rope_and_activation() {
    run(&["rms_norm", "swiglu", "rope", "rope_kv", "rope_table"]).await;
}

#[wasm_bindgen_test]
async fn attention() {
    run(&["attention", "attention_decode", "attention_merge", "attention_strided", "kv_write"]).await;
}

#[wasm_bindgen_test]
async fn sampling() {
    run(&["argmax", "sample"]).await;
}

#[wasm_bindgen_test]
async fn elementwise() {
    run(&["elementwise", "elementwise_in_place"]).await;
}

#[wasm_bindgen_test]
async fn movement() {
    run(&["concat", "expand", "gather_axis", "narrow", "scatter_add", "scatter_links", "transpose", "transpose_tiled"]).await;
}

#[wasm_bindgen_test]
async fn products_of_tensors() {
    run(&["expert_rows", "expert_sum", "fill", "mat_mul_dense", "mat_mul_grouped"]).await;
}

#[wasm_bindgen_test]
async fn softmax_and_norms_of_tensors() {
    run(&["softmax", "layer_norm", "rms_norm_residual"]).await;
}

#[wasm_bindgen_test]
async fn reductions_of_tensors() {
    run(&["reduce", "argmax_axis", "top_k", "cumsum"]).await;
}

#[wasm_bindgen_test]
async fn scans_and_projections_of_tensors() {
    run(&["selective_scan", "sinkhorn", "sinkhorn_rows"]).await;
}
