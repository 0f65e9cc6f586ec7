//! Sound at another number of samples a second: a windowed sinc.

use std::f64::consts::PI;

use crate::mel::RATE;

/// Zero crossings of the sinc on each side.
const CROSSINGS: f64 = 16.0;
/// Samples a second, at least and at most.
const RATES: std::ops::RangeInclusive<u32> = 1000..=768_000;
/// Of a sound, at most, in seconds.
pub const MOST_SECONDS: usize = 1800;

/// The samples at 16 kHz.
///
/// # Errors
/// A message for no samples, for too many, and for a rate that is none.
pub fn at_16_khz(samples: &[f32], rate: u32) -> Result<Vec<f32>, String> {
    if !RATES.contains(&rate) {
        let (least, most) = (RATES.start(), RATES.end());
        return Err(format!("a sound of {rate} samples a second, expected {least} to {most}"));
    }
    if samples.is_empty() {
        return Err("a sound of 0 samples has none".to_owned());
    }
    let seconds = samples.len().div_ceil(rate as usize);
    if seconds > MOST_SECONDS {
        return Err(format!("a sound of {seconds} seconds, at most {MOST_SECONDS} are taken"));
    }
    if let Some(wrong) = samples.iter().find(|sample| !sample.is_finite()) {
        // Formatting any number takes 9 KB of the module.
        let wrong = if wrong.is_nan() { "NaN" } else { "infinity" };
        return Err(format!("a sound with a sample of {wrong}, expected finite numbers"));
    }
    Ok(if rate as usize == RATE { samples.to_vec() } else { resampled(samples, rate as usize) })
}

fn resampled(samples: &[f32], rate: usize) -> Vec<f32> {
    let common = gcd(rate, RATE);
    let (up, down) = (RATE / common, rate / common);
    let cutoff = (RATE as f64 / rate as f64).min(1.0);
    let half = (CROSSINGS / cutoff).ceil() as usize;
    // The place of sample n of the result is n · down / up: its fraction is one of `up`.
    let taps: Vec<Vec<f32>> = (0..up).map(|phase| taps(phase as f64 / up as f64, cutoff, half)).collect();
    let count = (samples.len() as u64 * up as u64).div_ceil(down as u64) as usize;
    let at = |n: usize| {
        let place = n as u64 * down as u64;
        let (whole, phase) = ((place / up as u64) as usize, (place % up as u64) as usize);
        // Tap `half` lies on sample `whole`.
        let first = whole as isize - half as isize;
        let skipped = (-first).max(0) as usize;
        let found = &samples[(first.max(0) as usize).min(samples.len())..];
        taps[phase][skipped..].iter().zip(found).map(|(tap, sample)| tap * sample).sum()
    };
    (0..count).map(at).collect()
}

/// Weights of the samples from `half` before to `half` behind one that lies `fraction` before the place.
fn taps(fraction: f64, cutoff: f64, half: usize) -> Vec<f32> {
    let weight = |at: usize| {
        let x = at as f64 - half as f64 - fraction;
        let sinc = if x == 0.0 { 1.0 } else { (PI * x * cutoff).sin() / (PI * x * cutoff) };
        let edge = (x / (half + 1) as f64).clamp(-1.0, 1.0);
        sinc * (0.5 + 0.5 * (PI * edge).cos())
    };
    let weights: Vec<f64> = (0..=2 * half + 1).map(weight).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| (weight / sum) as f32).collect()
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(frequency: f64, rate: usize, count: usize) -> Vec<f32> {
        (0..count).map(|at| (2.0 * PI * frequency * at as f64 / rate as f64).sin() as f32).collect()
    }

    #[test]
    fn a_tone_stays_a_tone() {
        for rate in [8000, 11_025, 22_050, 44_100, 48_000, 96_000] {
            let found = at_16_khz(&wave(440.0, rate, rate / 2), rate as u32).expect("a sound");
            let expected = wave(440.0, RATE, RATE / 2);
            assert_eq!(found.len(), expected.len(), "{rate}");
            let inner = 100..expected.len() - 100;
            let apart = found[inner.clone()].iter().zip(&expected[inner]).map(|(a, b)| (a - b).abs());
            let most = apart.fold(0.0, f32::max);
            assert!(most < 2e-3, "{rate}: {most}");
        }
    }

    #[test]
    fn what_16_khz_cannot_hold_is_gone() {
        let found = at_16_khz(&wave(12_000.0, 48_000, 48_000), 48_000).expect("a sound");
        let most = found[200..found.len() - 200].iter().fold(0.0, |most: f32, x| most.max(x.abs()));
        assert!(most < 1e-2, "{most}");
    }

    #[test]
    fn sounds_out_of_range_are_refused_with_both_numbers() {
        let refused = |samples: &[f32], rate| at_16_khz(samples, rate).expect_err("refused");
        assert!(refused(&[], 16_000).contains("0 samples"));
        assert!(refused(&[0.0], 10).contains("10 samples a second, expected 1000"));
        assert!(refused(&[f32::NAN], 16_000).contains("NaN"));
        let long = vec![0.0; 1000 * (MOST_SECONDS + 1)];
        assert!(refused(&long, 1000).contains("1801 seconds, at most 1800"));
    }
}
