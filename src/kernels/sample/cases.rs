//! Greedy choice, penalties, filters and draws: the id that the CPU sampler chooses, and the pass after it.

use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::argmax::{CHUNK, Choices, Commit, MERGE, argmax, argmax_merge, partial_argmax_bytes};
use crate::kernels::pass::{Pass, ROW_DONE, Row, Sequence};
use crate::kernels::sample::{Options, SPEC, Sample, mask_words, sample, scratch_bytes};
use crate::kernels::spec::{BufferId, Slice};
use crate::sampler::{self, IN_PROMPT, SUPPRESSED, SamplingOptions};

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("sample");
    let mut cases: Vec<Case> = [1, 31, 257, 2048, 2049, 50_001].map(|length| greedy_case(random, length)).into();
    cases.extend([3, 2047, 2050, 10_241].map(|length| segments_case(random, length)));
    let merges = [(1, false), (257, false), (1000, false), (33, true)];
    cases.extend(merges.map(|(count, done)| merge_case(random, count, done)));
    cases.extend([31, 4099].map(|length| penalised_case(random, length)));
    cases.push(penalised_rows_case(random));
    cases.push(penalised_draft_case(random));
    let warm = SamplingOptions { temperature: 0.8, seed: 7, ..Default::default() };
    let settings = [
        ("plain", warm),
        ("top-k 1", SamplingOptions { top_k: 1, ..warm }),
        ("top-k 40", SamplingOptions { top_k: 40, temperature: 1.5, ..warm }),
        ("top-p 0.9", SamplingOptions { top_p: 0.9, ..warm }),
        ("min-p 0.05", SamplingOptions { min_p: 0.05, temperature: 2.0, ..warm }),
        ("min-p 0.7", SamplingOptions { min_p: 0.7, temperature: 2.0, ..warm }),
        (
            "all filters",
            SamplingOptions { top_k: 64, top_p: 0.8, min_p: 0.02, temperature: 1.2, seed: 1 << 40, ..warm },
        ),
        ("typical-p 0.3", SamplingOptions { typical_p: 0.3, temperature: 2.0, ..warm }),
        ("typical-p 0.9 with top-p", SamplingOptions { typical_p: 0.9, top_p: 0.7, temperature: 3.0, ..warm }),
        (
            "typical-p with all filters",
            SamplingOptions { typical_p: 0.2, top_k: 50, top_p: 0.9, min_p: 0.5, temperature: 5.0, ..warm },
        ),
        ("top-k and top-p", SamplingOptions { top_k: 40, top_p: 0.3, temperature: 5.0, ..warm }),
        ("top-k and min-p", SamplingOptions { top_k: 40, min_p: 0.8, temperature: 5.0, ..warm }),
        (
            "penalties",
            SamplingOptions { repetition_penalty: 1.3, frequency_penalty: 0.4, presence_penalty: 0.2, ..warm },
        ),
        ("temperature 1e-38 with penalties", SamplingOptions { temperature: 1e-38, repetition_penalty: 2.0, ..warm }),
        ("greedy with penalties", SamplingOptions { temperature: 0.0, repetition_penalty: 2.0, ..warm }),
    ];
    for (name, options) in settings {
        for length in [33, 1000, 50_001] {
            // Several steps each: a wrong filter shows in an id that it should have excluded.
            cases.extend((0..4).map(|step| sample_case(random, name, options, length, step)));
        }
    }
    cases.extend((0..12).map(last_of_top_k_case));
    cases.extend((0..8).flat_map(|step| [1.0, 0.999].map(|top_p| hot_case(step, top_p))));
    cases.extend([16.4, 16.9].map(topmost_noise_case));
    cases.push(several_greedy_case(random));
    cases.extend([false, true].map(|counts| several_drawn_case(random, counts)));
    cases.push(histogram_case());
    cases.push(candidates_case());
    let penalised = SamplingOptions { repetition_penalty: 1.3, frequency_penalty: 0.6, presence_penalty: 0.3, ..warm };
    let narrow = SamplingOptions { top_k: 20, top_p: 0.9, ..penalised };
    for options in [SamplingOptions { temperature: 0.0, ..penalised }, penalised, narrow] {
        cases.extend((0..3).flat_map(|step| [false, true].map(|counts| draft_case(random, (options, step), counts))));
    }
    cases.push(greedy_draft_case(random));
    let filtered = SamplingOptions { top_k: 40, ..warm };
    let looks = [(Look::Counts, true), (Look::Counts, false), (Look::Scratch, true), (Look::Done, true)];
    cases.extend(looks.map(|(look, numbers)| look_case(random, &filtered, look, numbers)));
    let greedy = SamplingOptions::default();
    let few = SamplingOptions { top_k: 3, top_p: 0.99, ..warm };
    let named = [("greedy", greedy), ("plain", warm), ("top-k and top-p", few)];
    cases.extend(named.map(|(name, options)| suppressed_case(random, name, options)));
    cases
}

/// The buffers of the commit, and the one to look at: the pass.
pub fn commit(bench: &mut Bench, stops: &[u32]) -> (Commit, BufferId) {
    let words: Vec<u32> = std::iter::once(stops.len() as u32).chain(stops.iter().copied()).collect();
    let (pass, _) = bench.fixed();
    let stops = bench.bytes(bytemuck::cast_slice(&words));
    (Commit { stops: stops.into(), pass, is_draft: false }, pass.buffer)
}

/// Masks that allow all of `length` ids, for `sequences` sequences.
pub fn any_id(bench: &mut Bench, sequences: usize, length: usize) -> Slice {
    bench.bytes(&vec![0; 4 * sequences * mask_words(length as u32)]).into()
}

/// The words of a pass after these tokens of its outputs, and whether they end their sequences.
pub fn after(before: &Pass, tokens: &[(u32, bool)]) -> Expected {
    let mut pass = before.clone();
    let first = before.rows.len() - tokens.len();
    for (output, &(token, ends)) in tokens.iter().enumerate() {
        let row = before.rows[first + output];
        if row.flags == 0 {
            let (position, done) = (row.position + 1, u32::from(ends));
            pass.rows[output] = Row { token, position, flags: done, ..row };
            let of = &mut pass.header.sequences[row.sequence as usize];
            *of = Sequence { token, done, steps: of.steps + 1, position };
        }
    }
    pass.header.rows = tokens.len() as u32;
    words(&pass)
}

fn words(pass: &Pass) -> Expected {
    Expected::Exact(pass.bytes().chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
}

fn greedy_case(random: &mut Random, length: usize) -> Case {
    let mut bench = Bench::at(17, 5);
    let mut logits = random.floats(length);
    // Two equal maxima: the first counts.
    let (a, b) = (random.below(length as u32) as usize, random.below(length as u32) as usize);
    (logits[a], logits[b]) = (2.0, 2.0);
    let token = a.min(b) as u32;
    let (commit, pass) = commit(&mut bench, &[length as u32 + 1, token]);
    let partial_argmaxes: Slice = bench.bytes(&vec![0; partial_argmax_bytes(length as u32) as usize]).into();
    let choices = choices(&mut bench, 1, &logits);
    let dispatches = vec![
        argmax([1, length as u32], choices, partial_argmaxes),
        argmax_merge([1, length as u32], partial_argmaxes, commit),
    ];
    let expected = after(&bench.pass, &[(token, true)]);
    bench.case(format!("{length} logits, the best one ends the text"), dispatches, pass, expected)
}

/// The inputs of greedy choice among all ids, for `rows` rows.
fn choices(bench: &mut Bench, rows: usize, logits: &[f32]) -> Choices {
    let mask = any_id(bench, 3, logits.len() / rows);
    Choices { pass: bench.fixed().0, mask, logits: bench.floats(logits).into() }
}

/// A pass of rows of sequences 2, 0 and 1, of which the second is done.
pub fn three_rows() -> Pass {
    let row = |sequence, position, flags| Row { token: 9, sequence, position, flags };
    let mut pass = Pass::decode(&[row(2, 40, 0), row(0, 3, ROW_DONE), row(1, 0, 0)]);
    for (i, sequence) in pass.header.sequences.iter_mut().enumerate() {
        *sequence = Sequence { token: 5, done: u32::from(i == 0), steps: i as u32 + 1, position: 8 };
    }
    pass
}

/// The best of every row's logits; that of the last ends its sequence.
fn several_greedy_case(random: &mut Random) -> Case {
    const LENGTH: usize = 2 * CHUNK as usize + 1;
    let mut bench = Bench::of(three_rows());
    let mut logits = random.floats(3 * LENGTH);
    let tokens = [17, 5, LENGTH - 1].map(|token| token as u32);
    tokens.iter().enumerate().for_each(|(row, &token)| logits[row * LENGTH + token as usize] = 2.0);
    let (commit, pass) = commit(&mut bench, &[tokens[2]]);
    let partial_argmaxes: Slice = bench.bytes(&vec![0; 3 * partial_argmax_bytes(LENGTH as u32) as usize]).into();
    let choices = choices(&mut bench, 3, &logits);
    let sizes = [3, LENGTH as u32];
    let dispatches = vec![argmax(sizes, choices, partial_argmaxes), argmax_merge(sizes, partial_argmaxes, commit)];
    let expected = after(&bench.pass, &tokens.map(|token| (token, token == tokens[2])));
    bench.case("three rows, the second is done".into(), dispatches, pass, expected)
}

/// Tokens drawn for three rows, each with the options of its sequence: the pass after them, or the counts.
fn several_drawn_case(random: &mut Random, look_at_counts: bool) -> Case {
    const LENGTH: usize = CHUNK as usize + 31;
    let mut bench = Bench::of(three_rows());
    let warm = SamplingOptions { temperature: 0.9, seed: 3, ..Default::default() };
    // By sequence.
    let options = [
        SamplingOptions { top_k: 3, ..warm },
        SamplingOptions { top_k: 20, temperature: 4.0, repetition_penalty: 1.4, ..warm },
        SamplingOptions { seed: 1 << 33, min_p: 0.01, temperature: 2.0, ..warm },
    ];
    let logits: Vec<f32> = random.floats(3 * LENGTH).into_iter().map(|x| 6.0 * x).collect();
    let mut counts: Vec<u32> = (0..3 * LENGTH).map(|i| [0, 1, IN_PROMPT + 3, 2][(i + i / LENGTH) % 4]).collect();
    let of_options: Vec<Options> = options.iter().map(Options::from).collect();
    let of_counts = bench.bytes(bytemuck::cast_slice(&counts));
    let (commit, pass) = commit(&mut bench, &[]);
    let problem = Sample {
        outputs: 3,
        length: LENGTH as u32,
        options: bench.bytes(bytemuck::cast_slice(&of_options)).into(),
        counts: of_counts.into(),
        mask: any_id(&mut bench, 3, LENGTH),
        logits: bench.floats(&logits).into(),
        scratch: bench.bytes(&vec![0; 3 * scratch_bytes(LENGTH as u32) as usize]).into(),
        commit,
    };
    let before = bench.pass.clone();
    let tokens: Vec<(u32, bool)> = (before.rows.iter().zip(logits.chunks_exact(LENGTH)))
        .map(|(row, logits)| {
            let sequence = row.sequence as usize;
            let counts = &mut counts[sequence * LENGTH..][..LENGTH];
            let steps = before.header.sequences[sequence].steps;
            let token = sampler::sample(logits, counts, &options[sequence], steps).expect("logits are numbers");
            counts[token as usize] += u32::from(row.flags == 0);
            (token, false)
        })
        .collect();
    let dispatches = sample(&problem).to_vec();
    let (output, expected) = match look_at_counts {
        true => (of_counts, Expected::Exact(counts)),
        false => (pass, after(&before, &tokens)),
    };
    let name = format!("three rows, the second is done, counts {look_at_counts}");
    let case = bench.case(name, dispatches, output, expected);
    Case { kernel_name: SPEC.kernel_name, variant: SPEC.kernel_name.into(), ..case }
}

/// Rows of [`draft_pass`].
const OF_DRAFT: usize = 5;

/// A token of sequence 0, and one of sequence 1 and a draft of three more, of which the last is none, with room for
/// what is chosen behind them.
fn draft_pass(steps: u32) -> Pass {
    let row = |(at, token): (u32, u32)| Row { token, position: 60 + at, sequence: 1, flags: 0 };
    let other = Row { token: 5, position: 12, sequence: 0, flags: 0 };
    let mut pass = Pass::decode(&[other, row((0, 4)), row((1, 8)), row((2, 5)), row((3, 8))]);
    pass.rows[4].flags = ROW_DONE;
    pass.header.sequences[0] = Sequence { token: 5, done: 0, steps: 3, position: 12 };
    pass.header.sequences[1] = Sequence { token: 4, done: 0, steps, position: 60 };
    pass.rows.extend([Row { token: 77, ..Row::default() }; OF_DRAFT]);
    pass
}

/// The choices for the rows of a draft are written behind the rows.
fn after_draft(before: &Pass, tokens: &[u32]) -> Expected {
    let mut pass = before.clone();
    for (i, &token) in tokens.iter().enumerate() {
        if pass.rows[i].flags == 0 {
            pass.rows[before.header.rows as usize + i].token = token;
        }
    }
    words(&pass)
}

/// The best of each row of a draft.
fn greedy_draft_case(random: &mut Random) -> Case {
    const LENGTH: usize = CHUNK as usize + 1;
    let mut bench = Bench::of(draft_pass(2));
    let mut logits = random.floats(OF_DRAFT * LENGTH);
    let tokens = [9, 17, 5, LENGTH as u32 - 1, 6];
    tokens.iter().enumerate().for_each(|(row, &token)| logits[row * LENGTH + token as usize] = 2.0);
    let (commit, pass) = commit(&mut bench, &[5]);
    let partial_argmaxes: Slice = bench.bytes(&vec![0; OF_DRAFT * partial_argmax_bytes(LENGTH as u32) as usize]).into();
    let choices = choices(&mut bench, OF_DRAFT, &logits);
    let merge = argmax_merge([OF_DRAFT as u32, LENGTH as u32], partial_argmaxes, Commit { is_draft: true, ..commit });
    let dispatches = vec![argmax([OF_DRAFT as u32, LENGTH as u32], choices, partial_argmaxes), merge];
    let expected = after_draft(&bench.pass, &tokens);
    let case = bench.case("a draft, greedy".into(), dispatches, pass, expected);
    Case { kernel_name: MERGE.kernel_name, variant: format!("{}.draft", MERGE.kernel_name), ..case }
}

/// Each row of a draft is chosen as if the rows before it were of the text: as a later step, with their tokens counted.
/// Nothing is counted yet.
fn draft_case(random: &mut Random, (options, steps): (SamplingOptions, u32), look_at_counts: bool) -> Case {
    const LENGTH: usize = CHUNK as usize + 31;
    let mut bench = Bench::of(draft_pass(steps));
    // Few that are likely, among them those of the draft.
    let mut logits: Vec<f32> = random.floats(OF_DRAFT * LENGTH).into_iter().map(|x| 2.0 * x).collect();
    for row in logits.chunks_exact_mut(LENGTH) {
        [4, 5, 8, LENGTH - 1].into_iter().zip([5.0, 5.5, 5.8, 5.4]).for_each(|(id, logit)| row[id] = logit);
    }
    let counts: Vec<u32> = (0..2 * LENGTH).map(|i| [0, 1, IN_PROMPT][i % 3]).collect();
    let of_options = [Options::from(&SamplingOptions::default()), Options::from(&options)];
    let of_counts = bench.bytes(bytemuck::cast_slice(&counts));
    let (commit, pass) = commit(&mut bench, &[]);
    let problem = Sample {
        outputs: OF_DRAFT as u32,
        length: LENGTH as u32,
        options: bench.bytes(bytemuck::cast_slice(&of_options)).into(),
        counts: of_counts.into(),
        mask: any_id(&mut bench, 2, LENGTH),
        logits: bench.floats(&logits).into(),
        scratch: bench.bytes(&vec![0; OF_DRAFT * scratch_bytes(LENGTH as u32) as usize]).into(),
        commit: Commit { is_draft: true, ..commit },
    };
    let mut so_far = counts[LENGTH..].to_vec();
    let mut of_rows = logits.chunks_exact(LENGTH);
    let alone = of_rows.next().and_then(|of| sampler::sample(of, &counts[..LENGTH], &SamplingOptions::default(), 3));
    let mut tokens = vec![alone.expect("logits are numbers")];
    for (i, (logits, row)) in of_rows.zip(&bench.pass.rows[1..]).enumerate() {
        so_far[row.token as usize] += u32::from(i > 0);
        let token = sampler::sample(logits, &so_far, &options, steps + i as u32);
        tokens.push(token.expect("logits are numbers"));
    }
    let (output, expected) = match look_at_counts {
        true => (of_counts, Expected::Exact(counts)),
        false => (pass, after_draft(&bench.pass, &tokens)),
    };
    let name = format!("a draft, {options:?}, step {steps}, counts {look_at_counts}").to_lowercase();
    let case = bench.case(name, sample(&problem).to_vec(), output, expected);
    Case { kernel_name: SPEC.kernel_name, variant: format!("{}.draft", SPEC.kernel_name), ..case }
}

/// The best of every segment: negative numbers, many of them equal.
fn segments_case(random: &mut Random, length: u32) -> Case {
    let mut bench = Bench::new(1);
    let logits: Vec<f32> = (0..length).map(|_| -1.0 - random.below(40) as f32).collect();
    let partial_argmaxes = bench.bytes(&vec![0; partial_argmax_bytes(length) as usize]);
    let choices = choices(&mut bench, 1, &logits);
    let dispatch = argmax([1, length], choices, partial_argmaxes.into());
    let best = logits.chunks(CHUNK as usize).enumerate().flat_map(|(segment, logits)| {
        let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let at = logits.iter().position(|&logit| logit == highest).unwrap_or_default();
        [highest.to_bits(), segment as u32 * CHUNK + at as u32]
    });
    let expected = Expected::Exact(best.collect());
    bench.case(format!("segments of {length} logits"), vec![dispatch], partial_argmaxes, expected)
}

/// PartialArgmaxes in any order, the best of them several times: the lowest index is taken, and nothing once the text
/// is done.
fn merge_case(random: &mut Random, count: u32, done: bool) -> Case {
    let mut bench = if done { Bench::done() } else { Bench::at(7, 3) };
    bench.set_steps(5);
    let mut partial_argmaxes: Vec<[u32; 2]> =
        (0..count).map(|i| [(random.below(60) as f32 - 64.0).to_bits(), 3 * (count - i)]).collect();
    // Every fifth from the end, among them the last and ones beyond the first 256.
    partial_argmaxes.iter_mut().rev().step_by(5).for_each(|best| best[0] = (-2.0f32).to_bits());
    let best = partial_argmaxes.iter().filter(|best| best[0] == (-2.0f32).to_bits()).map(|best| best[1]).min();
    let slice = bench.bytes(bytemuck::cast_slice(&partial_argmaxes)).into();
    let (commit, pass) = commit(&mut bench, &[]);
    let expected = match best {
        Some(token) if !done => after(&bench.pass, &[(token, false)]),
        _ => words(&bench.pass),
    };
    let name = format!("{count} partial_argmaxes{}", if done { ", the text is done" } else { "" });
    bench.case(name, vec![argmax_merge([1, count * CHUNK], slice, commit)], pass, expected)
}

/// The logits after the penalties.
fn penalised_case(random: &mut Random, length: usize) -> Case {
    let options = SamplingOptions {
        repetition_penalty: 1.3,
        frequency_penalty: 0.4,
        presence_penalty: 0.2,
        ..Default::default()
    };
    let mut bench = Bench::new(1);
    let values = random.floats(length);
    let some = [IN_PROMPT, 0, 1, IN_PROMPT + 3, SUPPRESSED, 2, IN_PROMPT | SUPPRESSED];
    let counts: Vec<u32> = (0..length).map(|i| some[i % some.len()]).collect();
    let expected = values.iter().zip(&counts).map(|(&x, &count)| sampler::penalise(x, count, &options)).collect();
    let logits = bench.floats(&values);
    let (commit, _) = commit(&mut bench, &[]);
    let problem = Sample {
        outputs: 1,
        length: length as u32,
        options: bench.bytes(bytemuck::bytes_of(&Options::from(&options))).into(),
        counts: bench.bytes(bytemuck::cast_slice(&counts)).into(),
        mask: any_id(&mut bench, 1, length),
        logits: logits.into(),
        scratch: bench.bytes(&vec![0; scratch_bytes(length as u32) as usize]).into(),
        commit,
    };
    let [penalties, ..] = sample(&problem);
    let expected = Expected::Close(expected, Tolerance::PLAIN);
    bench.case(format!("{length} penalised logits"), vec![penalties], logits, expected)
}

/// The logits of the last two rows of three, each with the options and the counts of its sequence.
fn penalised_rows_case(random: &mut Random) -> Case {
    const LENGTH: usize = CHUNK as usize + 31;
    let mut pass = three_rows();
    pass.header.outputs = 2;
    let sequences = [1, 2].map(|row| pass.rows[row].sequence as usize);
    let mut bench = Bench::of(pass);
    let options = [1.3, 2.0, 1.1].map(|repetition_penalty| SamplingOptions {
        repetition_penalty,
        frequency_penalty: 0.4,
        ..Default::default()
    });
    let of_options: Vec<Options> = options.iter().map(Options::from).collect();
    let counts: Vec<u32> = (0..3 * LENGTH).map(|_| [0, 1, IN_PROMPT + 3, 2][random.below(4) as usize]).collect();
    let values = random.floats(2 * LENGTH);
    let penalised = |i: usize| {
        let sequence = sequences[i / LENGTH];
        sampler::penalise(values[i], counts[sequence * LENGTH + i % LENGTH], &options[sequence])
    };
    let expected = (0..2 * LENGTH).map(penalised).collect();
    let logits = bench.floats(&values);
    let (commit, _) = commit(&mut bench, &[]);
    let problem = Sample {
        outputs: 2,
        length: LENGTH as u32,
        options: bench.bytes(bytemuck::cast_slice(&of_options)).into(),
        counts: bench.bytes(bytemuck::cast_slice(&counts)).into(),
        mask: any_id(&mut bench, 3, LENGTH),
        logits: logits.into(),
        scratch: bench.bytes(&vec![0; 2 * scratch_bytes(LENGTH as u32) as usize]).into(),
        commit,
    };
    let [penalties, ..] = sample(&problem);
    let expected = Expected::Close(expected, Tolerance::PLAIN);
    bench.case("penalised logits of two rows".into(), vec![penalties], logits, expected)
}

/// Penalised logits of a draft that follows the row of another sequence: each row counts the draft's tokens up to its
/// own.
fn penalised_draft_case(random: &mut Random) -> Case {
    const LENGTH: usize = 40;
    let mut bench = Bench::of(draft_pass(2));
    let options = SamplingOptions { repetition_penalty: 1.3, frequency_penalty: 0.4, ..Default::default() };
    let counts: Vec<u32> = (0..2 * LENGTH).map(|_| [0, 1, IN_PROMPT + 3][random.below(3) as usize]).collect();
    let values = random.floats(OF_DRAFT * LENGTH);
    let rows = &bench.pass.rows[..OF_DRAFT];
    let first = |row: usize| rows.iter().position(|of| of.sequence == rows[row].sequence).unwrap_or(row);
    let penalised = |i: usize| {
        let (row, id) = (i / LENGTH, i % LENGTH);
        let times = rows[first(row)..=row].iter().skip(1).filter(|of| of.token as usize == id).count();
        let count = counts[rows[row].sequence as usize * LENGTH + id] + times as u32;
        sampler::penalise(values[i], count, &options)
    };
    let expected = (0..OF_DRAFT * LENGTH).map(penalised).collect();
    let logits = bench.floats(&values);
    let (commit, _) = commit(&mut bench, &[]);
    let problem = Sample {
        outputs: OF_DRAFT as u32,
        length: LENGTH as u32,
        options: bench.bytes(bytemuck::cast_slice(&[Options::from(&options); 2])).into(),
        counts: bench.bytes(bytemuck::cast_slice(&counts)).into(),
        mask: any_id(&mut bench, 2, LENGTH),
        logits: logits.into(),
        scratch: bench.bytes(&vec![0; OF_DRAFT * scratch_bytes(LENGTH as u32) as usize]).into(),
        commit: Commit { is_draft: true, ..commit },
    };
    let [penalties, ..] = sample(&problem);
    let expected = Expected::Close(expected, Tolerance::PLAIN);
    bench.case("penalised logits of a draft".into(), vec![penalties], logits, expected)
}

fn sample_case(random: &mut Random, name: &str, options: SamplingOptions, length: usize, step: u32) -> Case {
    // In one step all logits are below 0.
    let shift = if step == 2 { -9.0 } else { 0.0 };
    let logits: Vec<f32> = random.floats(length).into_iter().map(|x| 8.0 * x + shift).collect();
    drawn_case(&logits, name, options, step)
}

/// The two best logits, of which the second is the last that top-k keeps, each in a bin of its own; a third, which it
/// does not keep, is in that of the second.
fn last_of_top_k_case(step: u32) -> Case {
    let mut logits = vec![-8.0; 1000];
    (logits[5], logits[900], logits[500]) = (0.0, -0.2, -0.21);
    let options = SamplingOptions { top_k: 2, temperature: 1.0, seed: 7, ..Default::default() };
    drawn_case(&logits, "the last of top-k", options, step)
}

/// Logits 40 below the largest at a temperature at which most of the tokens drawn are among them.
fn hot_case(step: u32, top_p: f32) -> Case {
    let mut logits = vec![-40.0; 1000];
    logits[..30].fill(0.0);
    let options = SamplingOptions { temperature: 30.0, top_p, seed: 3, ..Default::default() };
    drawn_case(&logits, &format!("40 below the largest, top-p {top_p}"), options, step)
}

/// The largest noise there is, 16.64, of seed 7 at step 10 for id 102169, against a logit that with its own noise is
/// worth `rival`: a little less, or a little more.
fn topmost_noise_case(rival: f32) -> Case {
    const STEP: u32 = 10;
    let options = SamplingOptions { temperature: 1.0, seed: 7, ..Default::default() };
    let mut logits = vec![-30.0; 102_170];
    // Neither id was used before: counts of multiples of 5 are 0, and without penalties they do not matter.
    let rival_noise = -(-sampler::uniform(options.seed, STEP, 5).ln()).ln();
    (logits[5], logits[102_169]) = (rival - rival_noise, 0.0);
    drawn_case(&logits, &format!("the largest noise against {rival}"), options, STEP)
}

/// All logits above 0 are of suppressed tokens, some of which stand in the prompt.
fn suppressed_case(random: &mut Random, name: &str, options: SamplingOptions) -> Case {
    let logits: Vec<f32> = random.floats(5000).into_iter().map(|x| 8.0 * x).collect();
    let count = |(i, &logit): (usize, &f32)| if logit > 0.0 { SUPPRESSED | [0, IN_PROMPT][i % 2] } else { 0 };
    let counts = logits.iter().enumerate().map(count).collect();
    counted_case(&logits, counts, &format!("{name}, the best are suppressed"), options, 1)
}

fn drawn_case(logits: &[f32], name: &str, options: SamplingOptions, step: u32) -> Case {
    let counts = (0..logits.len()).map(|i| [0, 1, IN_PROMPT, IN_PROMPT + 3, 2][i % 5]).collect();
    counted_case(logits, counts, name, options, step)
}

fn counted_case(logits: &[f32], counts: Vec<u32>, name: &str, options: SamplingOptions, step: u32) -> Case {
    let length = logits.len();
    let mut bench = Bench::at(100, 1);
    bench.set_steps(step);
    let token = sampler::sample(logits, &counts, &options, step).unwrap_or(u32::MAX);
    // In one step it ends the text.
    let ends = step == 3;
    let stops = [u32::MAX, token];
    let (commit, pass) = commit(&mut bench, if ends { &stops } else { &[] });
    let problem = Sample {
        outputs: 1,
        length: length as u32,
        options: bench.bytes(bytemuck::bytes_of(&Options::from(&options))).into(),
        counts: bench.bytes(bytemuck::cast_slice(&counts)).into(),
        mask: any_id(&mut bench, 1, length),
        logits: bench.floats(logits).into(),
        scratch: bench.bytes(&vec![0; scratch_bytes(length as u32) as usize]).into(),
        commit,
    };
    let expected = after(&bench.pass, &[(token, ends)]);
    let case = bench.case(format!("{name}, {length} logits, step {step}"), sample(&problem).to_vec(), pass, expected);
    // The case is listed under the last of the four kernels.
    Case { kernel_name: SPEC.kernel_name, variant: SPEC.kernel_name.into(), ..case }
}

/// The histogram of logits equal to the largest in every other segment, among ones far below, and ones too far below to
/// count.
fn histogram_case() -> Case {
    let length = 3 * CHUNK + 703;
    let logits: Vec<f32> = (0..length)
        .map(|i| match i % 3 {
            0 if (i / CHUNK) % 2 == 1 => -1.0,
            1 => -21.0,
            _ => -41.0,
        })
        .collect();
    let options = SamplingOptions { temperature: 1.0, top_p: 0.5, ..Default::default() };
    let count = |wanted: f32| logits.iter().filter(|&&logit| logit == wanted).count() as u64;
    let expected = histogram(&[(0, count(-1.0)), (160, count(-21.0))]);
    scratch_case(format!("histogram of {length} logits"), &logits, &options, 2, expected)
}

/// How many candidates there are where the last logit that top-k keeps is the last of its bin. That bin is not the
/// first, and one far behind it has logits, too.
fn candidates_case() -> Case {
    let mut logits = vec![-30.0; 1000];
    (logits[5], logits[900]) = (0.0, -20.0);
    let options = SamplingOptions { temperature: 1.0, top_k: 2, ..Default::default() };
    let mut expected = histogram(&[(0, 1), (160, 1), (240, 998)]);
    expected.push(2);
    scratch_case("top-k ends with a bin".into(), &logits, &options, 3, expected)
}

/// The counts of 256 bins, then the low and the high words of their sums. A bin is an eighth wide, and its logits lie
/// at its start; `bins` has the bins with logits, and their counts.
fn histogram(bins: &[(usize, u64)]) -> Vec<u32> {
    let mut words = vec![0; 3 * 256];
    for &(bin, count) in bins {
        let sum = ((-(bin as f64) / 8.0).exp() * f64::from(1u32 << 31)) as u64 * count;
        (words[bin], words[256 + bin], words[512 + bin]) = (count as u32, sum as u32, (sum >> 32) as u32);
    }
    words
}

/// The contents of the scratch after the first `kernels` of the four kernels.
fn scratch_case(name: String, logits: &[f32], options: &SamplingOptions, kernels: usize, expected: Vec<u32>) -> Case {
    let length = logits.len();
    let mut bench = Bench::new(1);
    let scratch = bench.bytes(&vec![0; scratch_bytes(length as u32) as usize]);
    let (commit, _) = commit(&mut bench, &[]);
    let problem = Sample {
        outputs: 1,
        length: length as u32,
        options: bench.bytes(bytemuck::bytes_of(&Options::from(options))).into(),
        counts: bench.bytes(&vec![0; 4 * length]).into(),
        mask: any_id(&mut bench, 1, length),
        logits: bench.floats(logits).into(),
        scratch: scratch.into(),
        commit,
    };
    let dispatches = sample(&problem)[..kernels].to_vec();
    bench.case(name, dispatches, scratch, Expected::Exact(expected))
}

/// The buffer that a case compares.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Look {
    /// How often each id was chosen.
    Counts,
    /// The words of the scratch that must be 0 for the next token.
    Scratch,
    /// The pass, when the text is done already.
    Done,
}

/// The contents of the buffers after a token. If all logits are NaN, no token is counted.
fn look_case(random: &mut Random, options: &SamplingOptions, look: Look, numbers: bool) -> Case {
    const LENGTH: usize = 1000;
    let mut bench = if look == Look::Done { Bench::done() } else { Bench::at(100, 1) };
    let logits = if numbers { random.floats(LENGTH) } else { vec![f32::NAN; LENGTH] };
    let mut counts: Vec<u32> = (0..LENGTH).map(|i| [1, IN_PROMPT + 3, 2][i % 3]).collect();
    let scratch = bench.bytes(&vec![0; scratch_bytes(LENGTH as u32) as usize]);
    let of_counts = bench.bytes(bytemuck::cast_slice(&counts));
    let (commit, pass) = commit(&mut bench, &[]);
    let problem = Sample {
        outputs: 1,
        length: LENGTH as u32,
        options: bench.bytes(bytemuck::bytes_of(&Options::from(options))).into(),
        counts: of_counts.into(),
        mask: any_id(&mut bench, 1, LENGTH),
        logits: bench.floats(&logits).into(),
        scratch: scratch.into(),
        commit,
    };
    if let Some(token) = sampler::sample(&logits, &counts, options, 0).filter(|_| numbers) {
        counts[token as usize] += 1;
    }
    let (output, expected) = match look {
        Look::Counts => (of_counts, Expected::Exact(counts)),
        // The histogram's three parts, and how many candidates there are.
        Look::Scratch => (scratch, Expected::Exact(vec![0; 3 * 256 + 1])),
        Look::Done => (pass, words(&bench.pass)),
    };
    let name = format!("{look:?} after a token, numbers {numbers}").to_lowercase();
    let case = bench.case(name, sample(&problem).to_vec(), output, expected);
    Case { kernel_name: SPEC.kernel_name, variant: SPEC.kernel_name.into(), ..case }
}
