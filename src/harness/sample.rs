//! Greedy choice, penalties, filters and draws: the id that the CPU sampler chooses, and the state after it.

use super::{Bench, Case, Expected, Random};
use crate::kernels::argmax::{Commit, argmax, argmax_merge, winners_bytes};
use crate::kernels::sample::{Options, Sample, sample, scratch_bytes};
use crate::kernels::spec::{BufferId, Slice};
use crate::kernels::state::State;
use crate::sampler::{self, IN_PROMPT, SamplingOptions};

pub fn cases(random: &mut Random) -> Vec<Case> {
    let mut cases: Vec<Case> = [1, 31, 257, 2048, 2049, 50_001].map(|length| greedy_case(random, length)).into();
    let warm = SamplingOptions { temperature: 0.8, seed: 7, ..Default::default() };
    let settings = [
        ("plain", warm),
        ("top-k 1", SamplingOptions { top_k: 1, ..warm }),
        ("top-k 40", SamplingOptions { top_k: 40, temperature: 1.5, ..warm }),
        ("top-p 0.9", SamplingOptions { top_p: 0.9, ..warm }),
        ("min-p 0.05", SamplingOptions { min_p: 0.05, temperature: 2.0, ..warm }),
        ("all filters", SamplingOptions { top_k: 64, top_p: 0.8, min_p: 0.02, temperature: 1.2, seed: 1 << 40, ..warm }),
        ("penalties", SamplingOptions { repetition_penalty: 1.3, frequency_penalty: 0.4, presence_penalty: 0.2, ..warm }),
        ("greedy with penalties", SamplingOptions { temperature: 0.0, repetition_penalty: 2.0, ..warm }),
    ];
    for (name, options) in settings {
        for length in [33, 1000, 50_001] {
            // Several steps each: a wrong filter shows as an id that it should have kept out.
            cases.extend((0..4).map(|step| sample_case(random, name, options, length, step)));
        }
    }
    cases
}

/// The buffers of the commit, and the one to look at: the state's words.
fn commit(bench: &mut Bench, stops: &[u32]) -> (Commit, BufferId) {
    let words: Vec<u32> = std::iter::once(stops.len() as u32).chain(stops.iter().copied()).collect();
    let (state, _) = bench.fixed();
    let stops = bench.bytes(bytemuck::cast_slice(&words));
    let tokens = bench.bytes(&[0; 16]);
    (Commit { stops: stops.into(), state, tokens: tokens.into() }, state.buffer)
}

fn after(before: State, token: u32, done: bool) -> Expected {
    let state = State {
        position: before.position + before.count,
        count: 1,
        token,
        done: u32::from(done),
        steps: before.steps + 1,
        ..before
    };
    Expected::Exact(bytemuck::cast_slice(bytemuck::bytes_of(&state)).to_vec())
}

fn greedy_case(random: &mut Random, length: usize) -> Case {
    let mut bench = Bench::at(17, 5);
    let mut logits = random.floats(length);
    // Two equal maxima: the first counts.
    let (a, b) = (random.below(length as u32) as usize, random.below(length as u32) as usize);
    (logits[a], logits[b]) = (2.0, 2.0);
    let token = a.min(b) as u32;
    let (commit, state) = commit(&mut bench, &[length as u32 + 1, token]);
    let winners: Slice = bench.bytes(&vec![0; winners_bytes(length as u32) as usize]).into();
    let logits = bench.floats(&logits).into();
    let dispatches = vec![argmax(length as u32, logits, winners), argmax_merge(length as u32, winners, commit)];
    let expected = after(bench.state(), token, true);
    bench.case(format!("{length} logits, the best one ends the text"), dispatches, state, expected)
}

fn sample_case(random: &mut Random, name: &str, options: SamplingOptions, length: usize, step: u32) -> Case {
    let mut bench = Bench::at(100, 1);
    bench.set_steps(step);
    let logits: Vec<f32> = random.floats(length).into_iter().map(|x| 8.0 * x).collect();
    let counts: Vec<u32> = (0..length).map(|i| [0, 1, IN_PROMPT, IN_PROMPT + 3, 2][i % 5]).collect();
    let token = sampler::sample(&logits, &counts, &options, step).unwrap_or(u32::MAX);
    let (commit, state) = commit(&mut bench, &[]);
    let problem = Sample {
        length: length as u32,
        options: bench.bytes(bytemuck::bytes_of(&Options::from(&options))).into(),
        counts: bench.bytes(bytemuck::cast_slice(&counts)).into(),
        logits: bench.floats(&logits).into(),
        scratch: bench.bytes(&vec![0; scratch_bytes(length as u32) as usize]).into(),
        commit,
    };
    let expected = after(bench.state(), token, false);
    let case = bench.case(format!("{name}, {length} logits, step {step}"), sample(&problem).to_vec(), state, expected);
    // The kernel that ends the four.
    Case { stem: "sample", variant: "sample".into(), ..case }
}
