//! Fourier transforms of real windows, two at a time as real and imaginary part. Radix 4, 2 and 5 without a reordering
//! of the input (Stockham's form: Van Loan 1992, Computational Frameworks for the Fast Fourier Transform, 1.7).

use std::f64::consts::PI;

/// A complex number.
type Complex = [f64; 2];

/// Real parts of `e^(2πi k / 5)` for `k` of 1 and 2, and the imaginary ones.
const FIFTH: [f64; 2] = [0.309_016_994_374_947_45, -0.809_016_994_374_947_5];
const FIFTH_SINE: [f64; 2] = [0.951_056_516_295_153_5, 0.587_785_252_292_473_1];

/// Computes the power of each frequency of windows.
pub struct Transform {
    hann: Vec<f64>,
    /// `e^(−2πi k / length)`
    turns: Vec<Complex>,
    values: Vec<Complex>,
    others: Vec<Complex>,
    powers: [Vec<f32>; 2],
}

impl Transform {
    /// A transform of windows of `window` samples, padded with zeros to `length`, a product of factors 2 and 5.
    /// `period`: samples from one end of the Hann window to the other, `window` or one less.
    pub fn new([window, length]: [usize; 2], period: usize) -> Self {
        let angle = |at: usize, of: usize| 2.0 * PI * at as f64 / of as f64;
        let turn = |at: usize| [angle(at, length).cos(), -angle(at, length).sin()];
        Self {
            hann: (0..window).map(|at| 0.5 * (1.0 - angle(at, period).cos())).collect(),
            turns: (0..length).map(turn).collect(),
            values: vec![[0.0; 2]; length],
            others: vec![[0.0; 2]; length],
            powers: [(); 2].map(|()| vec![0.0; length / 2 + 1]),
        }
    }

    /// The power spectra of two windows, which are padded with zeros where they are shorter.
    pub fn powers(&mut self, [first, second]: [&[f32]; 2]) -> &mut [Vec<f32>; 2] {
        let sample = |of: &[f32], at: usize| of.get(at).map_or(0.0, |&x| f64::from(x));
        self.values.fill([0.0; 2]);
        for ((at, value), hann) in self.values.iter_mut().enumerate().zip(&self.hann) {
            *value = [sample(first, at) * hann, sample(second, at) * hann];
        }
        self.run();
        let length = self.values.len();
        for k in 0..=length / 2 {
            let ([a, b], [c, d]) = (self.values[k], self.values[(length - k) % length]);
            // The spectrum of real samples is conjugate-symmetric, which separates the two windows.
            let (one, other) = ([(a + c) / 2.0, (b - d) / 2.0], [(b + d) / 2.0, (c - a) / 2.0]);
            for (powers, [re, im]) in self.powers.iter_mut().zip([one, other]) {
                powers[k] = (re * re + im * im) as f32;
            }
        }
        &mut self.powers
    }

    /// Replaces the values by their transform.
    fn run(&mut self) {
        let (mut length, mut stride) = (self.turns.len(), 1);
        while length > 1 {
            let radix = [4, 5, 2].into_iter().find(|&radix| length.is_multiple_of(radix)).unwrap_or(2);
            match radix {
                4 => self.stage(length, stride, fourth),
                5 => self.stage(length, stride, fifth),
                _ => self.stage(length, stride, half),
            }
            (length, stride) = (length / radix, stride * radix);
            std::mem::swap(&mut self.values, &mut self.others);
        }
    }

    /// One stage: splits `stride` transforms of `length` values into `RADIX` times as many shorter ones.
    fn stage<const RADIX: usize>(
        &mut self,
        length: usize,
        stride: usize,
        butterfly: impl Fn([Complex; RADIX]) -> [Complex; RADIX],
    ) {
        let rest = length / RADIX;
        for at in 0..rest {
            let turns: [Complex; RADIX] = std::array::from_fn(|k| self.turns[at * k * stride]);
            for each in 0..stride {
                let from = std::array::from_fn(|k| self.values[each + stride * (at + k * rest)]);
                let found = butterfly(from);
                for k in 0..RADIX {
                    self.others[each + stride * (RADIX * at + k)] = product(found[k], turns[k]);
                }
            }
        }
    }
}

#[inline(always)]
fn product([a, b]: Complex, [c, d]: Complex) -> Complex {
    [a * c - b * d, a * d + b * c]
}

#[inline(always)]
fn sum([a, b]: Complex, [c, d]: Complex) -> Complex {
    [a + c, b + d]
}

#[inline(always)]
fn difference([a, b]: Complex, [c, d]: Complex) -> Complex {
    [a - c, b - d]
}

#[inline(always)]
fn half([a, b]: [Complex; 2]) -> [Complex; 2] {
    [sum(a, b), difference(a, b)]
}

#[inline(always)]
fn fourth([a, b, c, d]: [Complex; 4]) -> [Complex; 4] {
    let (even, odd) = ([sum(a, c), difference(a, c)], [sum(b, d), difference(b, d)]);
    let turned = [odd[1][1], -odd[1][0]];
    [sum(even[0], odd[0]), sum(even[1], turned), difference(even[0], odd[0]), difference(even[1], turned)]
}

#[inline(always)]
fn fifth([a, b, c, d, e]: [Complex; 5]) -> [Complex; 5] {
    let (near, far) = ([sum(b, e), difference(b, e)], [sum(c, d), difference(c, d)]);
    // `a` plus what is even in the frequency, and `−i` times what is odd.
    let even = |[of_near, of_far]: [f64; 2]| {
        let part = |part: usize| a[part] + of_near * near[0][part] + of_far * far[0][part];
        [part(0), part(1)]
    };
    let odd = |[of_near, of_far]: [f64; 2]| {
        let part = |part: usize| of_near * near[1][part] + of_far * far[1][part];
        [part(1), -part(0)]
    };
    let ([cos, cos_2], [sin, sin_2]) = (FIFTH, FIFTH_SINE);
    let (one, two) = (even([cos, cos_2]), even([cos_2, cos]));
    let (turned, turned_twice) = (odd([sin, sin_2]), odd([sin_2, -sin]));
    [
        sum(a, sum(near[0], far[0])),
        sum(one, turned),
        sum(two, turned_twice),
        difference(two, turned_twice),
        difference(one, turned),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Power spectrum by the definition.
    fn powers(samples: &[f32], [window, length]: [usize; 2]) -> Vec<f64> {
        let angle = |at: usize, of: usize| 2.0 * PI * at as f64 / of as f64;
        let hann = |at: usize| 0.5 * (1.0 - angle(at, window).cos());
        let power = |k: usize| {
            let [re, im] = samples.iter().take(window).enumerate().fold([0.0; 2], |[re, im], (at, &x)| {
                let x = f64::from(x) * hann(at);
                [re + x * angle(k * at % length, length).cos(), im + x * angle(k * at % length, length).sin()]
            });
            re * re + im * im
        };
        (0..=length / 2).map(power).collect()
    }

    #[test]
    fn powers_of_two_windows_are_those_of_the_definition() {
        for sizes in [[400, 400], [320, 512], [50, 50], [8, 10], [2, 2]] {
            let mut state = 1_u32;
            let mut samples = || {
                let mut next = || {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (state >> 8) as f32 / (1 << 23) as f32 - 1.0
                };
                (0..sizes[1]).map(|_| next()).collect::<Vec<f32>>()
            };
            let windows = [samples(), samples()];
            let mut transform = Transform::new(sizes, sizes[0]);
            let found = transform.powers([&windows[0], &windows[1]]);
            for (found, samples) in found.iter().zip(&windows) {
                let wanted = powers(samples, sizes);
                let most = wanted.iter().fold(0.0_f64, |most, &power| most.max(power));
                for (k, (&found, wanted)) in found.iter().zip(wanted).enumerate() {
                    let off = (f64::from(found) - wanted).abs();
                    assert!(off <= 1e-6 * most, "frequency {k} of {sizes:?}: {found}, not {wanted}");
                }
            }
        }
    }

    #[test]
    fn a_window_that_is_not_there_is_silent() {
        let mut transform = Transform::new([400, 400], 400);
        let tone: Vec<f32> = (0..400).map(|at| (at as f32 * 0.3).sin()).collect();
        let [heard, silent] = transform.powers([&tone, &[]]);
        let loudest = heard.iter().fold(0.0_f32, |most, &power| most.max(power));
        assert!(loudest > 100.0);
        assert!(silent.iter().all(|&power| power < 1e-20 * loudest));
    }
}
