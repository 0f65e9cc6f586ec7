//! Every kernel case on a WebGPU device: `npm test -- --only browser`.
#![cfg(all(target_arch = "wasm32", feature = "harness"))]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};
use webgguf::gpu::{CaseRun, Device};
use webgguf::harness::{Case, Draws, cases, chi_square};
use webgguf::kernels::caps::Caps;
use webgguf::sampler::SamplingOptions;

wasm_bindgen_test_configure!(run_in_browser);

/// What all tests share: a device, on which a shader of several groups is compiled once, and its cases, since making
/// them takes five seconds.
struct Shared {
    gpu: Device,
    /// By kernel, until they run.
    cases: RefCell<BTreeMap<&'static str, Vec<Case>>>,
}

thread_local! {
    static SHARED: RefCell<Option<Rc<Shared>>> = const { RefCell::new(None) };
}

async fn shared() -> Rc<Shared> {
    if let Some(found) = SHARED.with_borrow(Clone::clone) {
        return found;
    }
    let gpu = Device::open().await.expect("a WebGPU device");
    let mut by_kernel: BTreeMap<_, Vec<Case>> = BTreeMap::new();
    for case in cases(&gpu.caps) {
        by_kernel.entry(case.kernel_name).or_default().push(case);
    }
    let shared = Rc::new(Shared { gpu, cases: by_kernel.into() });
    SHARED.set(Some(shared.clone()));
    shared
}

/// The output after `submits` of `replays` each.
async fn output(gpu: &Device, case: &Case, [submits, replays]: [u32; 2]) -> Vec<u8> {
    let run = CaseRun::new(gpu, case).expect("small buffers and parameters");
    (0..submits).for_each(|_| run.submit(replays));
    run.output().await.unwrap_or_else(|error| panic!("{} ({}): {error}", case.variant, case.name))
}

/// Runs the cases of the kernels, or says which failed and how.
async fn run(kernel_names: &[&str]) {
    let shared = shared().await;
    let gpu = &shared.gpu;
    let start = js_sys::Date::now();
    let mut seen = BTreeMap::new();
    let mut failures = Vec::new();
    let own = kernel_names.iter().filter_map(|&name| shared.cases.borrow_mut().remove(name));
    let own: Vec<Case> = own.flatten().filter(|case| case.needs.is_none()).collect();
    for case in own {
        let outcome = case.check(&output(gpu, &case, [1, 1]).await);
        let (count, worst) = seen.entry(case.variant.clone()).or_insert((0u32, 0f32));
        *count += 1;
        *worst = worst.max(outcome.of_limit);
        failures.extend(case.failure(&outcome));
    }
    for (variant, (count, worst)) in &seen {
        console_log!("{variant}: {count} cases, largest error {worst:.3} of what is tolerated");
    }
    console_log!("{kernel_names:?}: {:.1} s", (js_sys::Date::now() - start) / 1e3);
    assert!(failures.is_empty(), "{} cases failed:\n{}", failures.len(), failures.join("\n"));
}

/// A test for each group of the kernels that cases are about, and the list of all groups. Some kernels run in the cases
/// of others, such as `mat_vec_split` in those of `mat_vec`; the contract test sees that every kernel runs.
macro_rules! groups {
    ($($name:ident: $kernel_names:expr,)*) => {
        const GROUPS: &[&[&str]] = &[$(&$kernel_names),*];
        $(
            #[wasm_bindgen_test]
            async fn $name() {
                run(&$kernel_names).await;
            }
        )*
    };
}

groups! {
    repack_and_gather: ["repack", "gather", "find_rows", "unpack_f16"],
    mat_vec: ["mat_vec"],
    mat_mul: ["mat_mul", "mat_mul_int8", "mat_mul_subgroup_matrix", "quantise", "round_f16"],
    norms_rope_and_activation: ["norm", "swiglu", "rope", "rope_batch", "rope_kv", "rope_table"],
    batches: ["attention_batch", "pool"],
    experts: ["mat_mul_experts", "mat_vec_experts", "route"],
    attention: ["attention", "attention_decode", "attention_merge", "attention_strided", "kv_write"],
    sampling: ["argmax", "argmax_merge", "logit_bias", "penalties", "sample"],
    elementwise: ["elementwise", "elementwise_in_place"],
    movement: [
        "concat", "expand", "gather_axis", "narrow", "scatter_add", "scatter_links", "transpose", "transpose_tiled",
    ],
    products_of_tensors: ["expert_rows", "expert_sum", "fill", "mat_mul_dense", "mat_mul_grouped"],
    softmax_and_norms_of_tensors: ["softmax", "layer_norm", "rms_norm_residual"],
    reductions_of_tensors: ["reduce", "argmax_axis", "top_k", "cumsum"],
    gated_delta_rule: ["delta_net", "output_gate"],
    recurrent_layers: ["conv_causal", "ssm_chunk_products", "ssm_chunk_scan", "ssm_scan"],
    convolutions: ["compute/conv", "compute/conv_direct"],
    fourier_transforms: ["compute/fft"],
    power_spectra: ["compute/peaks", "compute/welch_power", "compute/welch_segments"],
    neighbours: ["compute/knn_distances"],
    gradients: [
        "compute/attention_forward",
        "compute/attention_grad",
        "compute/attention_weights",
        "compute/pool_grad",
    ],
    pooling_and_images: ["compute/group_norm", "compute/pad", "compute/pool", "compute/upsample"],
    scans_and_projections_of_tensors: ["selective_scan", "sinkhorn", "sinkhorn_rows"],
}

#[wasm_bindgen_test]
fn every_stem_is_in_one_group() {
    let mut listed: Vec<&str> = GROUPS.concat();
    listed.sort_unstable();
    let subgroups = Caps { subgroups: true, subgroup_size: (4, 4), ..Caps::baseline() };
    let kernel_names: BTreeSet<&str> = cases(&subgroups).iter().map(|case| case.kernel_name).collect();
    assert_eq!(listed, Vec::from_iter(kernel_names));
}

/// Ids drawn on the GPU have the probabilities of the softmax, and are those that the CPU sampler draws.
async fn draw(options: SamplingOptions, draws: u32) {
    const AT_ONCE: u32 = 500;
    let shared = shared().await;
    let gpu = &shared.gpu;
    let start = js_sys::Date::now();
    let Draws { case, probabilities } = Draws::new(&options, draws);
    let found = output(gpu, &case, [draws / AT_ONCE, AT_ONCE]).await;
    let counts: Vec<u32> = found.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    let (chi, limit) = chi_square(&counts, &probabilities);
    let differing = case.failure(&case.check(&found));
    let seconds = (js_sys::Date::now() - start) / 1e3;
    console_log!("{draws} draws in {seconds:.1} s: chi-square {chi:.1}, at most {limit:.1}; {differing:?}");
    assert_eq!(counts.iter().sum::<u32>(), draws);
    assert!(chi < limit, "chi-square {chi} is above {limit}");
    assert_eq!(differing, None, "counts differ from the CPU sampler's");
}

#[wasm_bindgen_test]
async fn draws_follow_the_softmax() {
    draw(SamplingOptions { temperature: 0.7, seed: 11, ..Default::default() }, 20_000).await;
}

#[wasm_bindgen_test]
async fn draws_follow_what_top_k_and_top_p_keep() {
    // Fewer draws: the filters take their time without a GPU.
    draw(SamplingOptions { temperature: 0.7, top_k: 40, top_p: 0.8, seed: 12, ..Default::default() }, 2_000).await;
}
