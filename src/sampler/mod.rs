//! How the next token is chosen from logits: options, their limits, and the CPU sampler.
//!
//! The order is llama.cpp's: penalties, DRY, top-k, typical-p, top-p, min-p, XTC, then temperature and one draw. The
//! draw is Gumbel-max (Gumbel 1954; Maddison et al. 2014, arXiv 1411.0030) with noise from a counter-based generator,
//! so that a GPU can do it in parallel and the same seed gives the same ids.

pub(crate) mod dry;
mod options;

pub use options::SamplingOptions;

use crate::sort::sort_by;

/// The lowest temperature at which tokens are drawn. Logits divided by less overflow or lose the noise to f32's
/// precision, and only logits that are equal but for rounding would have a chance beside the largest.
pub const MIN_TEMPERATURE: f32 = 1e-5;

/// The bit of [`Counts`] for a token of the prompt; the lower bits count how often it was generated.
pub const IN_PROMPT: u32 = 1 << 31;

/// The bit of [`Counts`] for a token that is never taken, `tokenizer.ggml.suppress_tokens`.
pub const SUPPRESSED: u32 = 1 << 30;

/// The logit of such a token after the penalties: below what a running maximum starts from, see `lowest.wgsl`.
pub const NEVER: f32 = -3.4e38;

/// How often every token was generated, with the bits [`IN_PROMPT`] and [`SUPPRESSED`]; `[vocab]`.
pub type Counts = Vec<u32>;

/// The counts at the start of an answer.
pub fn counts_of_prompt(vocab: usize, prompt: &[u32], suppressed: &[u32]) -> Counts {
    let mut counts = vec![0; vocab];
    for &id in prompt {
        if let Some(count) = counts.get_mut(id as usize) {
            *count = IN_PROMPT;
        }
    }
    for &id in suppressed {
        if let Some(count) = counts.get_mut(id as usize) {
            *count |= SUPPRESSED;
        }
    }
    counts
}

/// Counts the tokens of an answer.
pub fn count_answer(counts: &mut Counts, answer: &[u32]) {
    for &id in answer {
        if let Some(count) = counts.get_mut(id as usize) {
            *count += 1;
        }
    }
}

/// Applies the penalties to one logit.
pub fn penalise(logit: f32, count: u32, options: &SamplingOptions) -> f32 {
    if count == 0 {
        return logit;
    }
    if count & SUPPRESSED != 0 {
        return NEVER;
    }
    let scaled = if logit > 0.0 { logit / options.repetition_penalty } else { logit * options.repetition_penalty };
    let times = count & !IN_PROMPT;
    let presence = if times > 0 { options.presence_penalty } else { 0.0 };
    scaled - times as f32 * options.frequency_penalty - presence
}

/// A number in (0, 1) for (seed, step, index): pcg4d of Jarzynski and Olano, "Hash Functions for GPU Rendering", 2020.
pub fn uniform(seed: u64, step: u32, index: u32) -> f32 {
    let mut v = [seed as u32, (seed >> 32) as u32, step, index];
    for x in &mut v {
        *x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    }
    let mix = |v: &mut [u32; 4]| {
        v[0] = v[0].wrapping_add(v[1].wrapping_mul(v[3]));
        v[1] = v[1].wrapping_add(v[2].wrapping_mul(v[0]));
        v[2] = v[2].wrapping_add(v[0].wrapping_mul(v[1]));
        v[3] = v[3].wrapping_add(v[1].wrapping_mul(v[2]));
    };
    mix(&mut v);
    for x in &mut v {
        *x ^= *x >> 16;
    }
    mix(&mut v);
    ((v[0] >> 9) as f32 + 0.5) / 8_388_608.0
}

/// Whether a mask, a bit for each id and 32 to a word, has the bit of `id`.
pub fn is_allowed(mask: &[u32], id: u32) -> bool {
    mask.get(id as usize / 32).is_some_and(|word| word >> (id % 32) & 1 == 1)
}

/// Adds biases, (id, bias), to the logits of their ids.
pub fn add_biases(logits: &mut [f32], biases: &[(u32, f32)]) {
    for &(id, bias) in biases {
        if let Some(logit) = logits.get_mut(id as usize) {
            *logit += bias;
        }
    }
}

/// The next id of `logits` (`[vocab]`), where `step` tokens were sampled before.
///
/// Ties go to the lowest index. Returns `None` where every logit is NaN or suppressed.
pub fn sample(logits: &[f32], counts: &[u32], options: &SamplingOptions, step: u32) -> Option<u32> {
    sample_allowed(logits, counts, None, options, step)
}

/// As [`sample`], among the ids of a mask.
///
/// The filters look at all ids, as the model means them; the draw is among those of them that are allowed, and where
/// none is, among all that are. So an id that is drawn without the mask, and that it allows, is also the one that is
/// drawn with it: tokens can be drawn ahead of the masks, and kept where these allow them.
pub fn sample_allowed(
    logits: &[f32],
    counts: &[u32],
    mask: Option<&[u32]>,
    options: &SamplingOptions,
    step: u32,
) -> Option<u32> {
    let count = |i: usize| counts.get(i).copied().unwrap_or(0);
    // A loop, since iterators call a function for each token of the vocabulary.
    let mut kept: Vec<(f32, u32)> = Vec::with_capacity(logits.len());
    for (i, &logit) in logits.iter().enumerate() {
        let logit = penalise(logit, count(i), options);
        if count(i) & SUPPRESSED == 0 && !logit.is_nan() {
            kept.push((logit, i as u32));
        }
    }
    let best = |kept: &[(f32, u32)], score: &dyn Fn(&(f32, u32)) -> f32| {
        let better = |a: (f32, u32), b: (f32, u32)| if b.0 > a.0 || (b.0 == a.0 && b.1 < a.1) { b } else { a };
        kept.iter().map(|candidate| (score(candidate), candidate.1)).reduce(better).map(|(_, index)| index)
    };
    let is_allowed = |&(_, id): &(f32, u32)| mask.is_none_or(|mask| is_allowed(mask, id));
    if options.is_greedy() {
        kept.retain(is_allowed);
        return best(&kept, &|&(logit, _)| logit);
    }
    let mut allowed = if mask.is_some() { kept.clone() } else { Vec::new() };
    filter(&mut kept, options, step);
    kept.retain(is_allowed);
    if kept.is_empty() {
        allowed.retain(is_allowed);
        kept = allowed;
    }
    let noisy = |&(logit, index): &(f32, u32)| {
        logit / options.temperature + gumbel(1.0 - uniform(options.seed, step, index), f32::ln)
    };
    best(&kept, &noisy)
}

/// Below this, `-log(1 - rest)` is summed as a series.
const SERIES_BELOW: f32 = 0.25;

/// Gumbel noise `-log(-log(u))` for `rest` = 1 - u, which is exact in f32 for every u of [`uniform`].
///
/// WGSL lets `log` be off by 2^-21 between 1/2 and 2. Near u = 1 that is more than `-log(u)` itself: the noise could be
/// infinite, and so could a token's chance. There `-log(1 - r) = 2 artanh(z)` with `z = r / (2 - r)` is summed instead.
/// `ln` is a parameter because tests give it the error that a GPU's may have.
fn gumbel(rest: f32, ln: impl Fn(f32) -> f32) -> f32 {
    let minus_log = if rest < SERIES_BELOW {
        let z = rest / (2.0 - rest);
        let s = z * z;
        2.0 * z * (1.0 + s * (1.0 / 3.0 + s * (1.0 / 5.0 + s / 7.0)))
    } else {
        -ln(1.0 - rest)
    };
    -ln(minus_log)
}

/// The next id where `change` has to see the logits after the penalties.
pub(crate) fn choose(
    mut logits: Vec<f32>,
    counts: &[u32],
    change: impl FnOnce(&mut [f32]),
    options: &SamplingOptions,
    step: u32,
) -> Option<u32> {
    for (logit, &count) in logits.iter_mut().zip(counts) {
        *logit = penalise(*logit, count, options);
    }
    change(&mut logits);
    let (repetition_penalty, frequency_penalty, presence_penalty) = (1.0, 0.0, 0.0);
    sample(&logits, &[], &SamplingOptions { repetition_penalty, frequency_penalty, presence_penalty, ..*options }, step)
}

/// Cuts (logit, index) pairs down to what top-k, typical-p, top-p, min-p and XTC keep.
fn filter(kept: &mut Vec<(f32, u32)>, options: &SamplingOptions, step: u32) {
    let has_xtc = options.xtc_probability > 0.0;
    if options.top_k == 0 && options.typical_p >= 1.0 && options.top_p >= 1.0 && options.min_p == 0.0 && !has_xtc {
        return;
    }
    sort_descending(kept);
    if options.top_k > 0 {
        kept.truncate(options.top_k as usize);
    }
    if options.typical_p < 1.0 {
        keep_typical(kept, f64::from(options.typical_p));
    }
    let Some(&(highest, _)) = kept.first() else { return };
    let weight = |logit: f32| f64::from(logit - highest).exp();
    if options.top_p < 1.0 {
        let target = f64::from(options.top_p) * kept.iter().map(|&(logit, _)| weight(logit)).sum::<f64>();
        let mut sum = 0.0;
        let reached = kept.iter().position(|&(logit, _)| {
            sum += weight(logit);
            sum >= target
        });
        kept.truncate(reached.map_or(kept.len(), |last| last + 1));
    }
    let min = f64::from(options.min_p);
    kept.retain(|&(logit, _)| weight(logit) >= min);
    if has_xtc && uniform(options.seed, step, u32::MAX) <= options.xtc_probability {
        leave_out_top(kept, f64::from(options.xtc_threshold));
    }
}

/// XTC ("exclude top choices", as llama.cpp has it): where several tokens are at least as probable as `threshold`, only
/// the least probable of them stays. `kept` goes from the largest logit to the smallest.
fn leave_out_top(kept: &mut Vec<(f32, u32)>, threshold: f64) {
    let Some(&(highest, _)) = kept.first() else { return };
    let weight = |logit: f32| f64::from(logit - highest).exp();
    let sum: f64 = kept.iter().map(|&(logit, _)| weight(logit)).sum();
    let likely = kept.iter().take_while(|&&(logit, _)| weight(logit) >= threshold * sum).count();
    if threshold > 0.5 || likely < 2 {
        return;
    }
    let lowest = kept[likely - 1];
    kept.retain(|&(logit, index)| logit < lowest.0 || (logit == lowest.0 && index >= lowest.1));
}

/// From the largest logit to the smallest; equal ones keep their order. A vocabulary is sorted for each token: by the
/// four bytes of a logit one after the other, which takes less time than comparisons, and a thirtieth of std's code.
fn sort_descending(kept: &mut Vec<(f32, u32)>) {
    // As unsigned numbers the bits of positive floats are in order, and those of negative ones in reverse.
    let ascending = |bits: u32| bits ^ if bits >> 31 == 0 { 1 << 31 } else { u32::MAX };
    let byte = |logit: f32, shift: u32| usize::from((!ascending(logit.to_bits()) >> shift) as u8);
    let mut sorted = vec![(0.0, 0); kept.len()];
    for shift in [0, 8, 16, 24] {
        let mut ends = [0; 256];
        kept.iter().for_each(|&(logit, _)| ends[byte(logit, shift)] += 1);
        let mut sum = 0;
        for end in &mut ends {
            sum += *end;
            *end = sum;
        }
        for &(logit, index) in kept.iter().rev() {
            let end = &mut ends[byte(logit, shift)];
            *end -= 1;
            sorted[*end] = (logit, index);
        }
        std::mem::swap(kept, &mut sorted);
    }
}

/// Keeps the tokens whose information is nearest to the mean until their probabilities pass `share`: locally typical
/// sampling (Meister et al. 2022, arXiv 2202.00666). `kept` goes from the largest logit to the smallest.
///
/// With the depth d of a logit below the largest, the information of its token is d + log Z and the entropy is
/// mean(d) + log Z: the distance between them is |d - mean(d)|.
fn keep_typical(kept: &mut Vec<(f32, u32)>, share: f64) {
    let Some(&(highest, _)) = kept.first() else { return };
    let depth = |logit: f32| f64::from(highest - logit);
    let weight = |logit: f32| (-depth(logit)).exp();
    let sum: f64 = kept.iter().map(|&(logit, _)| weight(logit)).sum();
    let possible = kept.iter().filter(|&&(logit, _)| weight(logit) > 0.0);
    let mean = possible.map(|&(logit, _)| depth(logit) * weight(logit)).sum::<f64>() / sum;
    let distance = |logit: f32| (depth(logit) - mean).abs();
    sort_by(kept, |a, b| distance(a.0) < distance(b.0));
    let mut before = 0.0;
    let passed = kept.iter().position(|&(logit, _)| {
        before += weight(logit);
        before > share * sum
    });
    kept.truncate(passed.map_or(kept.len(), |last| last + 1));
    sort_descending(kept);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> SamplingOptions {
        SamplingOptions { temperature: 1.0, ..Default::default() }
    }

    /// How often each of `logits` is drawn in `draws` steps.
    fn histogram(logits: &[f32], options: &SamplingOptions, draws: u32) -> Vec<f64> {
        let mut found = vec![0.0; logits.len()];
        for step in 0..draws {
            found[sample(logits, &[], options, step).unwrap() as usize] += 1.0;
        }
        found
    }

    #[test]
    fn xtc_leaves_out_all_but_the_least_of_the_likely_tokens_as_often_as_it_is_told() {
        // Probabilities 0.4, 0.3, 0.2, 0.1.
        let logits = [0.4f32, 0.3, 0.2, 0.1].map(f32::ln);
        let xtc = |xtc_probability, xtc_threshold| SamplingOptions { xtc_probability, xtc_threshold, ..options() };
        let shares = |options: &SamplingOptions| -> Vec<f64> {
            histogram(&logits, options, 6000).into_iter().map(|n| n / 6000.0).collect()
        };
        let near = |found: &[f64], wanted: [f64; 4]| {
            assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 0.03), "{found:?}, not {wanted:?}");
        };
        near(&shares(&xtc(1.0, 0.15)), [0.0, 0.0, 2.0 / 3.0, 1.0 / 3.0]);
        near(&shares(&xtc(1.0, 0.35)), [0.4, 0.3, 0.2, 0.1]);
        near(&shares(&xtc(1.0, 0.55)), [0.4, 0.3, 0.2, 0.1]);
        near(&shares(&xtc(0.5, 0.15)), [0.2, 0.15, 0.1 + 1.0 / 3.0, 0.05 + 1.0 / 6.0]);
        // Only what the other filters keep counts for the probabilities.
        let cut = SamplingOptions { top_k: 2, ..xtc(1.0, 0.4) };
        near(&shares(&cut), [0.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn choosing_on_the_host_is_sampling_where_nothing_is_changed() {
        let logits: Vec<f32> = (0..50).map(|i| ((i * 7) % 11) as f32 / 3.0).collect();
        let options =
            SamplingOptions { repetition_penalty: 1.3, presence_penalty: 0.5, top_k: 9, seed: 3, ..options() };
        let mut counts = counts_of_prompt(50, &[1, 2, 3], &[10]);
        count_answer(&mut counts, &[4, 5, 5]);
        for step in 0..50 {
            let found = choose(logits.clone(), &counts, |_| (), &options, step);
            assert_eq!(found, sample(&logits, &counts, &options, step));
        }
        let never = choose(logits.clone(), &counts, |logits| logits[21] = 99.0, &options, 0);
        assert_eq!(never, Some(21));
    }

    #[test]
    fn greedy_takes_the_first_of_equals() {
        let greedy = SamplingOptions::default();
        assert_eq!(sample(&[1.0, 3.0, 3.0, 2.0], &[], &greedy, 0), Some(1));
        assert_eq!(sample(&[f32::NAN, f32::NEG_INFINITY], &[], &greedy, 0), Some(1));
        assert_eq!(sample(&[f32::NAN], &[], &greedy, 0), None);
    }

    #[test]
    fn logits_are_sorted_and_equal_ones_keep_their_order() {
        let values = [0.5, -0.0, 3e38, -2.0, 0.0, f32::NEG_INFINITY, -2.0, 1e-40, 0.5, -1e-40, 256.0, 257.0, -257.0];
        let mut kept: Vec<(f32, u32)> = values.iter().cycle().take(1000).copied().zip(0..).collect();
        let mut expected = kept.clone();
        expected.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        sort_descending(&mut kept);
        let bits = |list: &[(f32, u32)]| list.iter().map(|&(l, i)| (l.to_bits(), i)).collect::<Vec<_>>();
        assert_eq!(bits(&kept), bits(&expected));
    }

    #[test]
    fn draws_follow_the_softmax() {
        let logits = [0.0f32, 1.0, 2.0, -1.0, 0.5];
        let draws = 20_000;
        let total: f64 = logits.iter().map(|&l| f64::from(l / 0.7).exp()).sum();
        let options = SamplingOptions { temperature: 0.7, seed: 7, ..options() };
        let found = histogram(&logits, &options, draws);
        let chi: f64 = logits
            .iter()
            .zip(found)
            .map(|(&l, n)| {
                let expected = f64::from(l / 0.7).exp() / total * f64::from(draws);
                (n - expected).powi(2) / expected
            })
            .sum();
        // 99.9th percentile of chi-square with 4 degrees of freedom.
        assert!(chi < 18.47, "chi-square is {chi}");
    }

    /// `-ln(-ln(1 - rest))` in f64.
    fn exact_gumbel(rest: f32) -> f64 {
        -(-(-f64::from(rest)).ln_1p()).ln()
    }

    #[test]
    fn noise_is_finite_and_close_with_the_logarithms_that_wgsl_allows() {
        let worst = 2f32.powi(-21);
        let steps = |count: u32| (0..count).map(|k| (k as f32 + 0.5) / 8_388_608.0);
        let rests = steps(20_000).chain((0..2000).map(|k| (k as f32 * 4194.0 + 0.5) / 8_388_608.0));
        let rests = rests.chain(steps(20_000).map(|rest| 1.0 - rest));
        for rest in rests {
            for error in [-worst, 0.0, worst] {
                let ln = |x: f32| x.ln() + if (0.5..=2.0).contains(&x) { error } else { 0.0 };
                let noise = f64::from(gumbel(rest, ln));
                assert!((noise - exact_gumbel(rest)).abs() < 6e-6, "{noise} for 1 - {rest}, log off by {error}");
            }
        }
    }

    #[test]
    fn the_noise_of_the_topmost_number_is_bounded() {
        let rest = 1.0 - uniform(7, 10, 102_169);
        assert_eq!(rest, 2f32.powi(-24));
        assert!((gumbel(rest, f32::ln) - 16.635_532).abs() < 1e-5);
    }

    #[test]
    fn the_lowest_temperatures_are_greedy() {
        for temperature in [f32::MIN_POSITIVE / 2.0, 1e-38, 1e-30, 9e-6] {
            let options = SamplingOptions { temperature, ..options() };
            assert!(options.is_plain_greedy());
            assert_eq!(sample(&[4.0, 3.0, 5.0], &[], &options, 0), Some(2), "temperature {temperature}");
            assert_eq!(sample(&[-4.0, -3.0, -5.0], &[], &options, 0), Some(1), "temperature {temperature}");
        }
        let lowest = SamplingOptions { temperature: MIN_TEMPERATURE, ..options() };
        assert_eq!(sample(&[4.0, 3.0, 5.0], &[], &lowest, 0), Some(2));
    }

    #[test]
    fn filters_keep_what_they_say() {
        let logits = [3.0, 2.0, 1.0, 0.0];
        let keeps = |options: SamplingOptions| histogram(&logits, &options, 3000).iter().filter(|&&n| n > 0.0).count();
        assert_eq!(keeps(options()), 4);
        assert_eq!(keeps(SamplingOptions { top_k: 2, ..options() }), 2);
        // probabilities 0.644, 0.237, 0.087, 0.032
        assert_eq!(keeps(SamplingOptions { top_p: 0.7, ..options() }), 2);
        assert_eq!(keeps(SamplingOptions { top_p: 0.64, ..options() }), 1);
        assert_eq!(keeps(SamplingOptions { min_p: 0.1, ..options() }), 3);
    }

    #[test]
    fn typical_tokens_are_near_the_mean_information() {
        // -ln p of 0.4, 0.3, 0.2 and 0.1 is 0.92, 1.20, 1.61 and 2.30, the entropy 1.28: nearest are 0.3, 0.2, 0.4.
        let logits = [0.4f32, 0.3, 0.2, 0.1].map(f32::ln);
        let kept = |options: SamplingOptions| -> Vec<usize> {
            let found = histogram(&logits, &options, 3000);
            (0..4).filter(|&i| found[i] > 0.0).collect()
        };
        let typical = |typical_p| SamplingOptions { typical_p, ..options() };
        assert_eq!(kept(typical(0.29)), [1]);
        assert_eq!(kept(typical(0.31)), [1, 2]);
        assert_eq!(kept(typical(0.51)), [0, 1, 2]);
        assert_eq!(kept(typical(0.91)), [0, 1, 2, 3]);
        // The other filters look at what is left: 0.2 is two thirds of 0.3, the most probable one.
        assert_eq!(kept(SamplingOptions { min_p: 0.6, ..typical(0.31) }), [1, 2]);
        assert_eq!(kept(SamplingOptions { min_p: 0.7, ..typical(0.31) }), [1]);
        assert_eq!(kept(SamplingOptions { top_k: 2, ..typical(0.5) }), [0]);
    }

    #[test]
    fn penalties_look_at_prompt_and_answer() {
        let base = options();
        let repetition = SamplingOptions { repetition_penalty: 2.0, ..base };
        assert_eq!(penalise(3.0, IN_PROMPT, &repetition), 1.5);
        assert_eq!(penalise(-3.0, 1, &repetition), -6.0);
        let frequency = SamplingOptions { frequency_penalty: 0.5, presence_penalty: 0.25, ..base };
        assert_eq!(penalise(3.0, IN_PROMPT, &frequency), 3.0);
        assert_eq!(penalise(3.0, 2, &frequency), 1.75);
    }

    #[test]
    fn suppressed_tokens_are_never_taken() {
        let counts = counts_of_prompt(4, &[1, 2], &[2, 9]);
        assert_eq!(counts, [0, IN_PROMPT, IN_PROMPT | SUPPRESSED, 0]);
        for options in [SamplingOptions::default(), options(), SamplingOptions { top_k: 1, ..options() }] {
            let chosen = |step| sample(&[1.0, 2.0, 30.0, -40.0], &counts, &options, step);
            assert!((0..100).all(|step| chosen(step).is_some_and(|id| id < 2)));
            assert_eq!(sample(&[f32::NAN; 3], &counts, &options, 0), None);
        }
    }

    #[test]
    fn a_mask_is_for_the_draw_and_not_for_the_filters() {
        let logits = [5.0, 4.0, 1.0, 0.5, 0.0];
        let drawn = |mask: u32, options: SamplingOptions| -> Vec<u32> {
            let of = |step| sample_allowed(&logits, &[], Some(&[mask]), &options, step).unwrap();
            let found: std::collections::BTreeSet<u32> = (0..500).map(of).collect();
            found.into_iter().collect()
        };
        assert_eq!(drawn(0b11100, SamplingOptions::default()), [2], "the largest that is allowed");
        assert_eq!(drawn(0b11110, SamplingOptions { top_k: 2, ..options() }), [1], "top-k keeps 0 and 1");
        assert_eq!(drawn(0b11100, SamplingOptions { top_k: 2, ..options() }), [2, 3, 4], "it keeps none of them");
        assert_eq!(sample_allowed(&logits, &[], Some(&[0]), &options(), 0), None);
        assert_eq!(sample_allowed(&[1.0; 40], &[], Some(&[0, 1 << 7]), &options(), 0), Some(39));
    }

    #[test]
    fn what_is_drawn_and_allowed_is_drawn_under_the_mask() {
        let logits: Vec<f32> = (0..64).map(|i| 4.0 * uniform(3, 1, i)).collect();
        let options = SamplingOptions { top_p: 0.8, top_k: 30, min_p: 0.01, seed: 5, ..options() };
        for step in 0..300 {
            let mask = [0.25, 0.5].map(|below| (0..32).fold(0, |m, i| m | u32::from(uniform(9, step, i) < below) << i));
            let free = sample(&logits, &[], &options, step).unwrap();
            let masked = sample_allowed(&logits, &[], Some(&mask), &options, step).unwrap();
            assert!(is_allowed(&mask, masked));
            assert!(!is_allowed(&mask, free) || free == masked, "step {step}: {free} and {masked}");
        }
    }

    #[test]
    fn biases_are_added() {
        let mut logits = [1.0, 2.0, 3.0];
        add_biases(&mut logits, &[(2, -100.0), (0, 0.5), (7, 1.0)]);
        assert_eq!(logits, [1.5, 2.0, -97.0]);
    }

    #[test]
    fn a_wrong_option_is_named() {
        let error = SamplingOptions { top_p: f32::NAN, ..options() }.validate().unwrap_err();
        assert!(error.message().contains("topP is NaN"), "{error}");
        assert!(SamplingOptions { temperature: -1.0, ..options() }.validate().is_err());
        assert!(options().validate().is_ok());
    }
}
