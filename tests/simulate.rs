//! The simulator of `npm run simulate`: it finds the faults that it is for, and the kernels whose cases have changed
//! since it found none have none.
#![cfg(all(not(target_arch = "wasm32"), feature = "harness"))]

#[path = "../tools/simulate/engine/mod.rs"]
#[allow(dead_code)]
mod engine;

use engine::dispatch::{Failed, Grid, dispatch};
use engine::machine::{Shared, View};
use engine::memory::Memory;
use engine::numbers::Numbers;
use engine::run::{Options, Outcome, Programs, parsed, run};
use engine::suite::{Group, groups, is_listed, known};

/// Runs a shader of 8 threads over two buffers of 16 words, `x` of known numbers and `y` of unknown ones, in two
/// workgroups with subgroups of 4. What it leaves in `y`, or the fault.
fn simulate(body: &str) -> Result<Vec<u32>, String> {
    let wgsl = format!(
        "{}@group(0) @binding(0) var<storage, read> x: array<f32>;
        @group(0) @binding(1) var<storage, read_write> y: array<f32>;
        var<workgroup> shared_words: array<f32, 8>;
        {body}",
        if body.contains("subgroup") { "enable subgroups;\n" } else { "" }
    );
    let program = parsed(&wgsl, &Default::default(), 2).unwrap();
    let x = (0..16u32).map(|i| (i as f32).to_bits()).collect();
    let mut memories = [Memory::new(x, true), Memory::new(vec![0; 16], false)];
    let views = [0, 1].map(|memory| View { memory, first: 0, words: 16 });
    let mut numbers = Numbers { seed: 2, rough: true, flush: true, strict: true, fault: None };
    let mut shared = Shared {
        program: &program,
        memories: &mut memories,
        views: &views,
        numbers: &mut numbers,
        fuel: 1_000_000,
        random: 7,
        outside: Default::default(),
    };
    let grid = Grid { dispatch: 1, workgroups: [2, 1, 1], subgroup: 4 };
    match dispatch(&mut shared, &grid) {
        Ok(()) => Ok(memories[1].words.clone()),
        Err(Failed::TooLong) => Err("too long".into()),
        Err(Failed::Fault(fault)) => Err(format!("{}, {}", fault.text, program.quote(fault.at))),
    }
}

const MAIN: &str = "@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32,
    @builtin(global_invocation_id) id: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>)";

fn of_main(statements: &str) -> Result<Vec<u32>, String> {
    simulate(&format!("{MAIN} {{\n{statements}\n}}"))
}

#[track_caller]
fn finds(statements: &str, expected: &[&str]) {
    let told = of_main(statements).expect_err("a fault");
    assert!(expected.iter().all(|part| told.contains(part)), "{told}");
}

#[test]
fn a_shader_without_faults_runs() {
    let turned = of_main(
        "shared_words[i] = x[id.x];
        workgroupBarrier();
        var sum = 0.0;
        for (var k = 0u; k < 3u; k++) { if k == 1u { continue; } sum += shared_words[(i + k) % 8u]; }
        y[id.x] = sum;",
    );
    let expected = (0..16u32).map(|i| (2 * (i / 8 * 8) + i % 8 + (i % 8 + 2) % 8) as f32);
    assert_eq!(turned, Ok(expected.map(f32::to_bits).collect()));
}

#[test]
fn functions_pointers_and_matrices_run() {
    let body = "struct Pair { a: vec3<f32>, b: f32 }
        fn add(to: ptr<function, array<Pair, 2>>, at: u32, value: f32) { (*to)[at].a.y += value; (*to)[at].b = value; }
        fn pick(i: u32) -> f32 { switch i { case 1u, 2u: { return 10.0; } default: { return 1.0; } } }";
    let statements = "var pairs: array<Pair, 2>;
        add(&pairs, i % 2u, x[i]);
        let turned = mat2x2<f32>(1.0, 2.0, 3.0, 4.0) * vec2<f32>(1.0, 10.0);
        y[id.x] = pairs[i % 2u].a.y + pairs[i % 2u].b + turned.y * pick(i);";
    let found = simulate(&format!("{body} {MAIN} {{ {statements} }}"));
    let expected = (0..16u32).map(|i| i % 8).map(|i| (2 * i + 42 * if i == 1 || i == 2 { 10 } else { 1 }) as f32);
    assert_eq!(found, Ok(expected.map(f32::to_bits).collect()));
}

#[test]
fn races_are_found() {
    finds("shared_words[i] = x[i]; y[id.x] = shared_words[(i + 1u) % 8u];", &["race", "shared_words", "line"]);
    finds("y[id.x] = x[i]; storageBarrier(); y[i] = 1.0;", &["race", "of y"]);
    finds("y[3] = 1.0;", &["race", "word 3 of y"]);
    finds("y[id.x] = 1.0; workgroupBarrier(); y[id.x] = y[id.x ^ 1u];", &["race", "of y"]);
    let ordered =
        of_main("y[id.x] = 1.0; storageBarrier(); let before = y[id.x ^ 1u]; storageBarrier(); y[id.x] = before;");
    assert_eq!(ordered, Ok(vec![1f32.to_bits(); 16]));
}

#[test]
fn reads_of_nothing_are_found() {
    let beyond = of_main("y[id.x] = x[id.x + 1u];").unwrap();
    assert!(beyond[14] == 15f32.to_bits() && beyond[15] != 0, "what no binding has is of no certain value");
    finds("y[id.x + 1u] = 1.0;", &["of 16 of y", "line"]);
    finds("y[id.x] = y[id.x] + 1.0;", &["never written"]);
    finds("let at = i + 1u; shared_words[at] = 1.0;", &["8 of 8"]);
}

#[test]
fn control_flow_that_is_not_uniform_is_found() {
    finds("if i < 4u { workgroupBarrier(); } y[id.x] = 1.0;", &["not uniform", "4 wait at a barrier", "4 have ended"]);
    finds("if x[i] < 3.0 { y[id.x] = subgroupAdd(x[i]); }", &["not uniform", "subgroup operation"]);
    let sums = of_main("y[id.x] = subgroupAdd(x[i]);").unwrap();
    assert_eq!(sums[..8].iter().map(|bits| f32::from_bits(*bits)).collect::<Vec<_>>(), [[6.0; 4], [22.0; 4]].concat());
    finds("y[id.x] = subgroupShuffleXor(x[i], 4u);", &["lane 4 of a subgroup"]);
}

#[test]
fn numbers_that_are_not_finite_are_found() {
    finds("y[id.x] = select(0.0, 1.0, 1.0 / (x[i] - 1.0) > 0.5);", &["not finite"]);
    finds("y[id.x] = f32(u32(1.0 / x[i]));", &["not finite"]);
    assert!(of_main("y[id.x] = select(1.0 / x[i], 3.0, x[i] == 0.0);").is_ok(), "what is not chosen is not used");
}

#[test]
fn results_are_off_and_subnormal_numbers_are_flushed() {
    let exps = of_main("y[id.x] = exp(x[i]);").unwrap();
    let off = |i: usize| (f64::from(f32::from_bits(exps[i])) / (i as f64).exp() - 1.0).abs();
    assert!((0..8).any(|i| off(i) > 2e-7), "all are nearly exact");
    assert!((0..8).all(|i| off(i) < 19.0 * 1.2e-7), "none is further off than WGSL allows");
    assert_eq!(of_main("y[id.x] = (x[i] + 1.0) * 1e-30 * 1e-10 * 1e30;").unwrap(), vec![0; 16]);
}

/// What had no fault before and has not changed is not run again: `npm run simulate -- --write FILE` lists it.
const LISTED: &str = include_str!("fixtures/simulated.txt");

/// On devices without subgroups, and with subgroups of 32. Cases that take long are left to `npm run simulate`.
#[test]
fn kernels_that_have_changed_have_no_fault() {
    let groups: Vec<Group> = [0, 32].into_iter().flat_map(groups).collect();
    let changed = groups.iter().filter(|group| !is_listed(group, LISTED));
    let faults: Vec<String> = changed.flat_map(faults).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn faults(group: &Group) -> Vec<String> {
    println!("{}: {} cases", group.name(), group.cases.len());
    let mut programs = Programs::default();
    let options = Options { seed: 2, rough: true, subgroup: group.subgroup.max(4), fuel: 3_000_000 };
    let outcomes = group.cases.iter().map(|case| (case, run(case, &mut programs, &options)));
    let wrong = outcomes.filter_map(|(case, outcome)| match outcome {
        Outcome::Wrong(text) if known(group.kernel_name, &text).is_none() => Some(format!("{}: {text}", case.name)),
        _ => None,
    });
    wrong.collect()
}
