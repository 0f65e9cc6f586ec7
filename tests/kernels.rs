//! Every kernel case on a WebGPU device: `npm test -- --only browser`. A kernel whose cases have not changed since they
//! agreed is not run again: its digest is of its shaders, of all buffers, and of what is expected.
#![cfg(all(feature = "harness", any(target_arch = "wasm32", feature = "gpu-tests")))]

#[path = "common/agreed.rs"]
mod agreed;
#[path = "common/console.rs"]
mod console;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use webgguf::gpu::{CaseRun, Device};
use webgguf::harness::{Case, Digest, Draws, Expected, cases, chi_square};
use webgguf::kernels;
use webgguf::sampler::SamplingOptions;
use webgguf::time_slice::now;

use agreed::{is_known, tell};
use console::console_log;

const AGREED: &str = include_str!("fixtures/agreed/kernels.txt");

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
    let start = now();
    let mut seen = BTreeMap::new();
    let mut failures = Vec::new();
    let own = kernel_names.iter().filter_map(|&name| shared.cases.borrow_mut().remove(name));
    let own: Vec<Case> = own.flatten().filter(|case| case.needs.is_none()).collect();
    let (name, digest) = (kernel_names.join("+"), Digest::of_cases(gpu, &own));
    if is_known(&name, &digest, AGREED) {
        return;
    }
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
    console_log!("{kernel_names:?}: {:.1} s", (now() - start) / 1e3);
    assert!(failures.is_empty(), "{} cases failed:\n{}", failures.len(), failures.join("\n"));
    tell(&name, &digest);
}

/// A test for each kernel that cases are about. Some run in the cases of others, such as `mat_vec_split` in those of
/// `mat_vec`; the contract test sees that every kernel runs.
macro_rules! kernels {
    ($($name:ident [$($spec:ident),*] $(($($part:ident),*))*;)*) => {
        $(
            #[wasm_bindgen_test(unsupported = pollster::test)]
            async fn $name() {
                run(&[$(kernels::$name::$spec.kernel_name),*]).await;
            }
        )*
    };
}

webgguf::for_each_kernel!(kernels);

/// The kernels of `webgguf/compute`.
mod of_compute {
    use wasm_bindgen_test::wasm_bindgen_test;

    macro_rules! kernels {
        ($($name:ident [$($spec:ident),*];)*) => {
            $(
                #[wasm_bindgen_test(unsupported = pollster::test)]
                async fn $name() {
                    super::run(&[$(webgguf::compute::$name::$spec.kernel_name),*]).await;
                }
            )*
        };
    }

    webgguf::for_each_compute_kernel!(kernels);
}

/// Ids drawn on the GPU have the probabilities of the softmax, and are those that the CPU sampler draws.
async fn draw(options: SamplingOptions, draws: u32) {
    const AT_ONCE: u32 = 500;
    let shared = shared().await;
    let gpu = &shared.gpu;
    let start = now();
    let Draws { case, probabilities } = Draws::new(&options, draws);
    let found = output(gpu, &case, [draws / AT_ONCE, AT_ONCE]).await;
    let counts: Vec<u32> = found.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    let (chi, limit) = chi_square(&counts, &probabilities);
    let differing = case.failure(&case.check(&found));
    let seconds = (now() - start) / 1e3;
    console_log!("{draws} draws in {seconds:.1} s: chi-square {chi:.1}, at most {limit:.1}; {differing:?}");
    assert_eq!(counts.iter().sum::<u32>(), draws);
    assert!(chi < limit, "chi-square {chi} is above {limit}");
    assert_eq!(differing, None, "counts differ from the CPU sampler's");
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn draws_follow_the_softmax() {
    draw(SamplingOptions { temperature: 0.7, seed: 11, ..Default::default() }, 20_000).await;
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn draws_follow_what_top_k_and_top_p_keep() {
    // Fewer draws: the filters take their time without a GPU.
    draw(SamplingOptions { temperature: 0.7, top_k: 40, top_p: 0.8, seed: 12, ..Default::default() }, 2_000).await;
}

#[wasm_bindgen_test(unsupported = pollster::test)]
async fn a_digest_is_of_all_that_a_case_gives_and_expects() {
    let gpu = &shared().await.gpu;
    let Draws { case, .. } = Draws::new(&SamplingOptions::default(), 500);
    let of = |change: fn(&mut Case)| {
        let mut case = case.clone();
        change(&mut case);
        Digest::of_cases(gpu, &[case]).text()
    };
    let before = of(|_| ());
    assert_eq!(of(|_| ()), before, "the same again");
    let changed = [
        of(|case| case.name.push('x')),
        of(|case| case.dispatches[0].kernel.text = Some("fn main() {}")),
        of(|case| case.buffers[0].1[0] ^= 1),
        of(|case| case.output.0 += 1),
        of(|case| case.pass.rows[0].token += 1),
        of(|case| case.expected = Expected::Exact(vec![0])),
        Digest::of_cases(gpu, &[]).text(),
    ];
    for (n, other) in changed.iter().enumerate() {
        assert_ne!(*other, before, "change {n}");
    }
}
