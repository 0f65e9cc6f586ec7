//! Resampling of sound with a windowed sinc, piece by piece.

use std::f64::consts::PI;

use crate::mel::RATE;

/// Zero crossings of the sinc on each side.
const CROSSINGS: f64 = 16.0;
/// The sample rates that are taken, in Hz.
const RATES: std::ops::RangeInclusive<u32> = 1000..=768_000;
/// The longest sound, in seconds.
pub const MOST_SECONDS: usize = 1800;
/// Upper bound of the phases for which weights are computed; other phases are rounded to the nearest one. Usual rates
/// have fewer: 44,100 Hz has 160.
const MOST_PHASES: usize = 1024;

/// Resamples a sound to 16 kHz while its samples arrive.
pub struct Resampler {
    rate: usize,
    /// `down` samples become `up`.
    up: usize,
    down: usize,
    cutoff: f64,
    half: usize,
    /// Weights of each phase, computed when they are first needed.
    taps: Vec<Option<Box<[f32]>>>,
    /// Input samples that are still needed, and the index of the first one.
    held: Vec<f32>,
    start: usize,
    /// The number of output samples so far.
    made: usize,
}

impl Resampler {
    /// A resampler for a sound of `count` samples.
    ///
    /// # Errors
    /// A message for no samples, for too many, and for a rate out of range.
    pub fn new(rate: u32, count: usize) -> Result<Self, String> {
        if !RATES.contains(&rate) {
            let (least, most) = (RATES.start(), RATES.end());
            return Err(format!("a sound of {rate} samples a second, expected {least} to {most}"));
        }
        if count == 0 {
            return Err("a sound of 0 samples has none".to_owned());
        }
        let seconds = count.div_ceil(rate as usize);
        if seconds > MOST_SECONDS {
            return Err(format!("a sound of {seconds} seconds, at most {MOST_SECONDS} are taken"));
        }
        let rate = rate as usize;
        let common = gcd(rate, RATE);
        let (up, down) = (RATE / common, rate / common);
        let cutoff = (RATE as f64 / rate as f64).min(1.0);
        let half = (CROSSINGS / cutoff).ceil() as usize;
        let taps = vec![None; if up > MOST_PHASES { MOST_PHASES + 1 } else { up }];
        Ok(Self { rate, up, down, cutoff, half, taps, held: Vec::new(), start: 0, made: 0 })
    }

    /// Takes the next input samples and returns the output samples that they complete.
    ///
    /// # Errors
    /// A message for NaN and infinity.
    pub fn push(&mut self, samples: &[f32]) -> Result<Vec<f32>, String> {
        if let Some(wrong) = samples.iter().find(|sample| !sample.is_finite()) {
            // Formatting any number takes 9 KB of the module.
            let wrong = if wrong.is_nan() { "NaN" } else { "infinity" };
            return Err(format!("a sound with a sample of {wrong}, expected finite numbers"));
        }
        if self.rate == RATE {
            return Ok(samples.to_vec());
        }
        self.held.extend_from_slice(samples);
        let received = self.start + self.held.len();
        let mut made = Vec::new();
        while self.place(self.made).0 + self.half + 2 <= received {
            made.push(self.sample());
        }
        // The next output sample reads from `half` samples before it on.
        let needed = self.place(self.made).0.saturating_sub(self.half).clamp(self.start, received);
        self.held.drain(..needed - self.start);
        self.start = needed;
        Ok(made)
    }

    /// The last output samples, with silence behind the input.
    pub fn finish(&mut self) -> Vec<f32> {
        if self.rate == RATE {
            return Vec::new();
        }
        let received = (self.start + self.held.len()) as u64;
        let count = (received * self.up as u64).div_ceil(self.down as u64) as usize;
        (self.made..count).map(|_| self.sample()).collect()
    }

    /// The position of an output sample in the input: the sample before it, and the distance from that in units of 1 /
    /// `up`.
    fn place(&self, number: usize) -> (usize, usize) {
        let place = number as u64 * self.down as u64;
        ((place / self.up as u64) as usize, (place % self.up as u64) as usize)
    }

    fn sample(&mut self) -> f32 {
        let (whole, phase) = self.place(self.made);
        self.made += 1;
        if self.up <= MOST_PHASES {
            return self.weighed(whole, phase);
        }
        self.weighed(whole, (phase * MOST_PHASES + self.up / 2) / self.up)
    }

    /// The weighted sum of the samples around sample `whole`.
    fn weighed(&mut self, whole: usize, phase: usize) -> f32 {
        let (phases, cutoff, half) = (self.up.min(MOST_PHASES), self.cutoff, self.half);
        let taps = self.taps[phase].get_or_insert_with(|| taps(phase as f64 / phases as f64, cutoff, half));
        // Tap `half` lies on sample `whole`.
        let first = whole as isize - half as isize;
        let skipped = (-first).max(0) as usize;
        let found = &self.held[((first.max(0) as usize) - self.start).min(self.held.len())..];
        taps[skipped..].iter().zip(found).map(|(tap, sample)| tap * sample).sum()
    }
}

/// Resamples a whole sound to 16 kHz.
///
/// # Errors
/// As [`Resampler::new`] and [`Resampler::push`].
pub fn at_16_khz(samples: &[f32], rate: u32) -> Result<Vec<f32>, String> {
    let mut resampler = Resampler::new(rate, samples.len())?;
    let mut made = resampler.push(samples)?;
    made.extend(resampler.finish());
    Ok(made)
}

/// Weights of the samples from `half` before to `half` behind the sample that lies `fraction` before the output
/// position.
fn taps(fraction: f64, cutoff: f64, half: usize) -> Box<[f32]> {
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

    #[test]
    fn pieces_of_any_length_become_the_same_sound() {
        for rate in [1000, 8000, 11_025, 16_000, 44_100, 96_000, 767_999] {
            let sound = wave(440.0, rate, rate / 5 + 7);
            let whole = at_16_khz(&sound, rate as u32).expect("a sound");
            for length in [1, 777, 16_384] {
                let mut resampler = Resampler::new(rate as u32, sound.len()).expect("a rate");
                let mut found: Vec<f32> =
                    sound.chunks(length).flat_map(|piece| resampler.push(piece).expect("numbers")).collect();
                assert!(resampler.held.len() < 2 * resampler.half + length + 4, "{rate}: {}", resampler.held.len());
                found.extend(resampler.finish());
                assert!(found == whole, "{rate} Hz, pieces of {length}");
            }
        }
    }

    /// A rate that has nothing in common with 16 kHz has 16,000 fractions of some 1,500 weights each.
    #[test]
    fn an_odd_rate_takes_few_weights() {
        for rate in [767_999_usize, 44_101, 15_999] {
            let mut resampler = Resampler::new(rate as u32, rate).expect("a rate");
            let found = resampler.push(&wave(440.0, rate, rate)).expect("numbers");
            let expected = wave(440.0, RATE, RATE);
            let inner = 100..found.len() - 100;
            let apart = found[inner.clone()].iter().zip(&expected[inner]).map(|(a, b)| (a - b).abs());
            let most = apart.fold(0.0, f32::max);
            assert!(most < 2e-3, "{rate}: {most}");
            let weights: usize = resampler.taps.iter().flatten().map(|taps| taps.len()).sum();
            assert!(weights <= (MOST_PHASES + 1) * (2 * resampler.half + 2), "{rate}: {weights}");
        }
    }
}
