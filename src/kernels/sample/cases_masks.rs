//! Masks of ids and biases: the id that the CPU sampler chooses under a mask, and logits with biases.

use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::argmax::{CHUNK, Choices, argmax, argmax_merge, partial_argmax_bytes};
use crate::kernels::logit_bias::{self, logit_bias};
use crate::kernels::sample::cases::{after, commit, three_rows};
use crate::kernels::sample::{Options, SPEC, Sample, mask_words, sample, scratch_bytes};
use crate::kernels::spec::Slice;
use crate::sampler::{self, SamplingOptions};

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("masks");
    let mut cases: Vec<Case> = [1, 33, 2049, 50_001].map(|length| greedy_case(random, length)).into();
    cases.push(greedy_rows_case(random));
    let warm = SamplingOptions { temperature: 0.8, seed: 7, ..Default::default() };
    let settings = [
        ("plain", warm),
        ("top-k 40", SamplingOptions { top_k: 40, temperature: 1.5, ..warm }),
        ("all filters", SamplingOptions { top_k: 64, top_p: 0.8, min_p: 0.02, temperature: 1.2, ..warm }),
        ("greedy with penalties", SamplingOptions { temperature: 0.0, repetition_penalty: 2.0, ..warm }),
    ];
    for (name, options) in settings {
        for length in [33, 1000, 10_001] {
            let logits: Vec<f32> = random.floats(length).into_iter().map(|x| 8.0 * x).collect();
            let half = mask_of(length, |_| random.below(2) == 0);
            cases.extend((0..3).map(|step| drawn_case(&logits, &half, &format!("{name}, half"), options, step)));
            // None of the likely ids is allowed: what the filters keep is not.
            let unlikely = mask_of(length, |id| logits[id] < -6.0 || id == 7);
            cases.push(drawn_case(&logits, &unlikely, &format!("{name}, unlikely"), options, 1));
        }
    }
    cases.push(deep_case(warm));
    cases.push(drawn_rows_case(random));
    cases.extend([(31, 1), (70, 64), (5000, 200)].map(|(length, count)| bias_case(random, length, count)));
    cases.push(bias_rows_case(random));
    cases
}

/// A word that says that there is a mask, then its bits; id 0 is in it, so that it is never empty.
fn mask_of(length: usize, mut is_allowed: impl FnMut(usize) -> bool) -> Vec<u32> {
    let mut words = vec![0; mask_words(length as u32)];
    words[0] = 1;
    for id in (0..length).filter(|&id| is_allowed(id) || id == 0) {
        words[1 + id / 32] |= 1 << (id % 32);
    }
    words
}

/// The largest allowed logit, where all larger ones are not.
fn greedy_case(random: &mut Random, length: usize) -> Case {
    let mut bench = Bench::at(17, 5);
    let logits = random.floats(length);
    let mask = mask_of(length, |id| id % 3 == 0 && logits[id] < 0.5);
    let greedy = SamplingOptions::default();
    let token = sampler::sample_allowed(&logits, &[], Some(&mask[1..]), &greedy, 0).expect("id 0 is allowed");
    let (commit, pass) = commit(&mut bench, &[]);
    let partials: Slice = bench.bytes(&vec![0; partial_argmax_bytes(length as u32) as usize]).into();
    let of = Choices {
        pass: commit.pass,
        mask: bench.bytes(bytemuck::cast_slice(&mask)).into(),
        logits: bench.floats(&logits).into(),
    };
    let sizes = [1, length as u32];
    let dispatches = vec![argmax(sizes, of, partials), argmax_merge(sizes, partials, commit)];
    let expected = after(&bench.pass, &[(token, false)]);
    bench.case(format!("{length} logits, some allowed"), dispatches, pass, expected)
}

/// The largest logits of every segment of the last two rows of three, each under the mask of its sequence.
fn greedy_rows_case(random: &mut Random) -> Case {
    const LENGTH: usize = CHUNK as usize + 33;
    let mut pass = three_rows();
    pass.header.outputs = 2;
    let mut bench = Bench::of(pass);
    let logits = random.floats(2 * LENGTH);
    let masks: Vec<Vec<u32>> = (0..3).map(|_| mask_of(LENGTH, |id| id == 2050 || random.below(4) == 0)).collect();
    let rows = bench.pass.rows[1..].iter().zip(logits.chunks_exact(LENGTH));
    let best = rows.flat_map(|(row, logits)| {
        let mask = &masks[row.sequence as usize][1..];
        (0..LENGTH).step_by(CHUNK as usize).flat_map(move |from| {
            let segment = from..LENGTH.min(from + CHUNK as usize);
            let allowed = segment.filter(|&id| sampler::is_allowed(mask, id as u32));
            let best = allowed.max_by(|&a, &b| logits[a].total_cmp(&logits[b])).expect("some are allowed");
            [logits[best].to_bits(), best as u32]
        })
    });
    let expected = Expected::Exact(best.collect());
    let partials = bench.bytes(&vec![0; 2 * partial_argmax_bytes(LENGTH as u32) as usize]);
    let of = Choices {
        pass: bench.fixed().0,
        mask: bench.bytes(bytemuck::cast_slice(&masks.concat())).into(),
        logits: bench.floats(&logits).into(),
    };
    let dispatches = vec![argmax([2, LENGTH as u32], of, partials.into())];
    bench.case("two rows, each with a mask".into(), dispatches, partials, expected)
}

fn drawn_case(logits: &[f32], mask: &[u32], name: &str, options: SamplingOptions, step: u32) -> Case {
    let length = logits.len();
    let mut bench = Bench::at(100, 1);
    bench.set_steps(step);
    let counts: Vec<u32> = (0..length).map(|i| (i % 3) as u32).collect();
    let token = sampler::sample_allowed(logits, &counts, Some(&mask[1..]), &options, step).expect("id 0 is allowed");
    let (commit, pass) = commit(&mut bench, &[]);
    let problem = Sample {
        outputs: 1,
        length: length as u32,
        options: bench.bytes(bytemuck::bytes_of(&Options::from(&options))).into(),
        counts: bench.bytes(bytemuck::cast_slice(&counts)).into(),
        mask: bench.bytes(bytemuck::cast_slice(mask)).into(),
        logits: bench.floats(logits).into(),
        scratch: bench.bytes(&vec![0; scratch_bytes(length as u32) as usize]).into(),
        commit,
    };
    let expected = after(&bench.pass, &[(token, false)]);
    let name = format!("{name} of {length} logits allowed, step {step}");
    listed(bench.case(name, sample(&problem).to_vec(), pass, expected))
}

/// Cases are listed under the last of the four kernels.
fn listed(case: Case) -> Case {
    Case { kernel_name: SPEC.kernel_name, variant: SPEC.kernel_name.into(), ..case }
}

/// Allowed are only ids that are so unlikely that they are never drawn otherwise, in two segments.
fn deep_case(options: SamplingOptions) -> Case {
    let length = 2 * CHUNK as usize;
    let mut logits = vec![0.0; length];
    logits[100..].iter_mut().for_each(|logit| *logit = -60.0);
    logits[3000] = -52.0;
    logits[0] = -90.0;
    let mask = mask_of(length, |id| id > 200);
    drawn_case(&logits, &mask, "very unlikely ids", options, 2)
}

/// Tokens of three rows, of which the second is done, each under the mask of its sequence: one has none.
fn drawn_rows_case(random: &mut Random) -> Case {
    const LENGTH: usize = CHUNK as usize + 31;
    let mut bench = Bench::of(three_rows());
    let options = SamplingOptions { temperature: 0.9, seed: 3, ..Default::default() };
    let logits: Vec<f32> = random.floats(3 * LENGTH).into_iter().map(|x| 6.0 * x).collect();
    let mut masks: Vec<Vec<u32>> = (0..3).map(|_| mask_of(LENGTH, |_| random.below(9) == 0)).collect();
    masks[1][0] = 0;
    let (commit, pass) = commit(&mut bench, &[]);
    let problem = Sample {
        outputs: 3,
        length: LENGTH as u32,
        options: bench.bytes(bytemuck::cast_slice(&[Options::from(&options); 3])).into(),
        counts: bench.bytes(&[0; 4 * 3 * LENGTH]).into(),
        mask: bench.bytes(bytemuck::cast_slice(&masks.concat())).into(),
        logits: bench.floats(&logits).into(),
        scratch: bench.bytes(&vec![0; 3 * scratch_bytes(LENGTH as u32) as usize]).into(),
        commit,
    };
    let before = bench.pass.clone();
    let rows = before.rows.iter().zip(logits.chunks_exact(LENGTH));
    let tokens: Vec<(u32, bool)> = rows
        .map(|(row, logits)| {
            let mask = &masks[row.sequence as usize];
            let mask = (mask[0] == 1).then_some(&mask[1..]);
            let steps = before.header.sequences[row.sequence as usize].steps;
            (sampler::sample_allowed(logits, &[], mask, &options, steps).expect("logits are numbers"), false)
        })
        .collect();
    let expected = after(&before, &tokens);
    listed(bench.case("three rows, each with a mask or none".into(), sample(&problem).to_vec(), pass, expected))
}

/// Biases of distinct ids, and of one that there is not.
fn biases(random: &mut Random, length: usize, count: usize) -> Vec<(u32, f32)> {
    let step = (length / count).max(1);
    let known = (0..length).step_by(step).take(count).map(|id| (id as u32, random.floats(1)[0] * 100.0));
    known.chain([(length as u32, 50.0)]).collect()
}

fn bias_case(random: &mut Random, length: usize, count: usize) -> Case {
    let mut bench = Bench::new(3);
    let mut values = random.floats(length);
    let biases = biases(random, length, count);
    let logits = bench.floats(&values);
    let words = bench.bytes(bytemuck::cast_slice(&padded(&biases)));
    let dispatch = logit_bias([1, length as u32], bench.fixed().0, words.into(), logits.into());
    sampler::add_biases(&mut values, &biases);
    let expected = Expected::Close(values, Tolerance::PLAIN);
    bench.case(format!("{count} biases of {length} logits"), vec![dispatch], logits, expected)
}

/// The words of a sequence's biases, with the room that they have.
fn padded(biases: &[(u32, f32)]) -> Vec<u32> {
    let mut words = logit_bias::words(biases);
    words.resize(logit_bias::WORDS, 0);
    words
}

/// The last two rows of three, each with the biases of its sequence.
fn bias_rows_case(random: &mut Random) -> Case {
    const LENGTH: usize = 77;
    let mut pass = three_rows();
    pass.header.outputs = 2;
    let mut bench = Bench::of(pass);
    let mut values = random.floats(2 * LENGTH);
    let of_sequences = [20, 3, 40].map(|count| biases(random, LENGTH, count));
    let logits = bench.floats(&values);
    let words: Vec<u32> = of_sequences.iter().flat_map(|biases| padded(biases)).collect();
    let words = bench.bytes(bytemuck::cast_slice(&words));
    let dispatch = logit_bias([2, LENGTH as u32], bench.fixed().0, words.into(), logits.into());
    for (row, values) in bench.pass.rows[1..].iter().zip(values.chunks_exact_mut(LENGTH)) {
        sampler::add_biases(values, &of_sequences[row.sequence as usize]);
    }
    let expected = Expected::Close(values, Tolerance::PLAIN);
    bench.case("biases of two rows".into(), vec![dispatch], logits, expected)
}
