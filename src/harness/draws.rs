//! Many draws from one set of logits, to compare with probabilities and with the CPU sampler.

use super::{Bench, Case, Expected, Random};
use crate::kernels::sample::cases::{any_id, commit};
use crate::kernels::sample::{LARGEST_AT, Options, Sample, sample, scratch_bytes};
use crate::sampler::{self, SamplingOptions};

/// Logits to draw from.
const LENGTH: u32 = 100;

/// The expected distribution of many draws.
#[derive(Debug, Clone)]
pub struct Draws {
    /// One draw, to be replayed. Its output counts every id, and must in the end be what the CPU sampler draws.
    pub case: Case,
    /// How probable each id is.
    pub probabilities: Vec<f64>,
}

impl Draws {
    /// `draws` draws with these options, which must have no penalties: the kernel `penalties` is left out, and the best
    /// logit that it would find is in the scratch already. Without filters `sample_histogram` is left out, too.
    pub fn new(options: &SamplingOptions, draws: u32) -> Self {
        let logits: Vec<f32> = Random::new(5).floats(LENGTH as usize).into_iter().map(|x| 2.0 * x).collect();
        let mut bench = Bench::new(1);
        let (commit, _) = commit(&mut bench, &[]);
        let counts = bench.bytes(&[0; 4 * LENGTH as usize]);
        let best = (0..LENGTH).max_by(|&a, &b| logits[a as usize].total_cmp(&logits[b as usize])).unwrap_or_default();
        let mut scratch = vec![0u32; scratch_bytes(LENGTH) as usize / 4];
        scratch[LARGEST_AT as usize..][..2].copy_from_slice(&[logits[best as usize].to_bits(), best]);
        let problem = Sample {
            outputs: 1,
            length: LENGTH,
            options: bench.bytes(bytemuck::bytes_of(&Options::from(options))).into(),
            counts: counts.into(),
            mask: any_id(&mut bench, 1, LENGTH as usize),
            logits: bench.floats(&logits).into(),
            scratch: bench.bytes(bytemuck::cast_slice(&scratch)).into(),
            commit,
        };
        let mut drawn = vec![0; LENGTH as usize];
        let ids = (0..draws).filter_map(|step| sampler::sample(&logits, &[], options, step));
        ids.for_each(|id| drawn[id as usize] += 1);
        let filters = options.top_k > 0 || options.top_p < 1.0;
        let dispatches = sample(&problem).into_iter().skip(if filters { 1 } else { 2 }).collect();
        let case = bench.case(format!("{draws} draws"), dispatches, counts, Expected::Exact(drawn));
        Self { case, probabilities: probabilities(&logits, options) }
    }
}

/// The softmax of what top-k and top-p keep.
fn probabilities(logits: &[f32], options: &SamplingOptions) -> Vec<f64> {
    let mut order: Vec<usize> = (0..logits.len()).collect();
    order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
    if options.top_k > 0 {
        order.truncate(options.top_k as usize);
    }
    let weight = |i: usize| f64::from(logits[i]).exp();
    let goal = f64::from(options.top_p) * order.iter().map(|&i| weight(i)).sum::<f64>();
    let mut sum = 0.0;
    let kept = order.into_iter().take_while(|&i| {
        let before = sum;
        sum += weight(i);
        before < goal
    });
    let mut probabilities = vec![0.0; logits.len()];
    kept.for_each(|i| probabilities[i] = f64::from(logits[i] / options.temperature).exp());
    let total: f64 = probabilities.iter().sum();
    probabilities.iter().map(|weight| weight / total).collect()
}

/// Pearson's chi-square of the counts, and its 99.9th percentile (Wilson and Hilferty 1931) if the probabilities are
/// true. Ids of which fewer than five are expected are pooled; a drawn id of probability 0 makes it infinite.
pub fn chi_square(counts: &[u32], probabilities: &[f64]) -> (f64, f64) {
    let total = f64::from(counts.iter().sum::<u32>());
    let pairs = counts.iter().zip(probabilities).map(|(&count, p)| (f64::from(count), p * total));
    let (rare, mut cells): (Vec<_>, Vec<_>) = pairs.partition(|&(_, expected)| expected < 5.0);
    if rare.iter().any(|&(count, expected)| count > 0.0 && expected == 0.0) {
        return (f64::INFINITY, 0.0);
    }
    let rest = rare.iter().fold((0.0, 0.0), |sum, cell| (sum.0 + cell.0, sum.1 + cell.1));
    cells.extend((rest.1 > 0.0).then_some(rest));
    let chi = cells.iter().map(|(count, expected)| (count - expected).powi(2) / expected).sum();
    let freedom = 2.0 / (9.0 * (cells.len() as f64 - 1.0));
    (chi, (1.0 - freedom + 3.0902 * freedom.sqrt()).powi(3) * (cells.len() as f64 - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_sampler_follows_the_probabilities() {
        let warm = SamplingOptions { temperature: 0.7, seed: 11, ..Default::default() };
        for options in [warm, SamplingOptions { top_k: 40, top_p: 0.8, ..warm }] {
            let Draws { case, probabilities } = Draws::new(&options, 20_000);
            let Expected::Exact(counts) = case.expected else { panic!("counts are exact") };
            let (chi, limit) = chi_square(&counts, &probabilities);
            assert!(chi < limit, "chi-square {chi} above {limit}");
            let even = vec![1.0 / counts.len() as f64; counts.len()];
            assert!(chi_square(&counts, &even).0 > 2.0 * limit, "these logits differ");
        }
    }

    #[test]
    fn percentiles_are_those_of_tables() {
        for (cells, expected) in [(5, 18.467), (31, 59.703), (101, 149.449)] {
            let (_, limit) = chi_square(&vec![1000; cells], &vec![1.0 / cells as f64; cells]);
            assert!((limit / expected - 1.0f64).abs() < 0.015, "{limit} for {expected}");
        }
    }
}
