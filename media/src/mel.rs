//! The log-mel spectrogram of Whisper (Radford et al. 2022, <https://arxiv.org/abs/2212.04356>), as llama.cpp's `mtmd`
//! computes it.

use std::f64::consts::PI;

/// Samples of a second.
pub const RATE: usize = 16_000;
/// Samples of a window, which its transform has, too.
const WINDOW: usize = 400;
/// Samples from one window to the next.
const HOP: usize = 160;
/// Frequencies of a window.
const FREQUENCIES: usize = WINDOW / 2 + 1;
/// Parts of a window that a sum of products is transformed in: 400 = 16 · 25.
const ODD: usize = 25;
/// What is less than this counts as this.
const FLOOR: f64 = 5.960_464_477_539_063e-8;

/// A spectrogram: frame by frame, `bins` values each.
#[derive(Debug, Clone, PartialEq)]
pub struct Mel {
    /// Values of a frame.
    pub bins: usize,
    /// `[frames, bins]`
    pub values: Vec<f32>,
    /// What a frame of silence has in each bin.
    pub silence: f32,
}

impl Mel {
    /// Of samples at 16 kHz: as many frames as have any of them.
    pub fn of(samples: &[f32], bins: usize) -> Self {
        let padded = padded(samples);
        let frames = (samples.len().max(FREQUENCIES) + WINDOW / 2).div_ceil(HOP);
        let (filters, mut transform) = (Filters::new(bins), Transform::new());
        let mut values = Vec::with_capacity(frames * bins);
        for frame in 0..frames {
            let power = transform.power(&padded[frame * HOP..][..WINDOW]);
            values.extend(filters.of(power).map(|sum| sum.max(FLOOR).log10() as f32));
        }
        // What is more than eight powers of ten below the loudest is raised to that.
        let least = values.iter().fold(f32::MIN, |most, &value| most.max(value)) - 8.0;
        let scaled = |value: f32| (value.max(least) + 4.0) / 4.0;
        values.iter_mut().for_each(|value| *value = scaled(*value));
        Self { bins, values, silence: scaled(FLOOR.log10() as f32) }
    }

    /// How many frames there are.
    pub fn frames(&self) -> usize {
        self.values.len() / self.bins
    }

    /// A value; that of silence past the end.
    pub fn at(&self, frame: usize, bin: usize) -> f32 {
        self.values.get(frame * self.bins + bin).copied().unwrap_or(self.silence)
    }
}

/// Half a window mirrored in front, and silence behind.
fn padded(samples: &[f32]) -> Vec<f32> {
    let half = WINDOW / 2;
    let at = |index: usize| samples.get(index).copied().unwrap_or(0.0);
    let length = samples.len().max(half + 1);
    let mut padded: Vec<f32> = (1..=half).rev().map(at).collect();
    padded.extend((0..length).map(at));
    padded.resize(padded.len() + WINDOW, 0.0);
    padded
}

/// Triangles of equal width on Slaney's scale of pitch, 0 to 8 kHz, each with the area 1.
struct Filters {
    /// The first frequency of each, and its weights.
    triangles: Vec<(usize, Vec<f64>)>,
}

impl Filters {
    fn new(bins: usize) -> Self {
        let top = pitch(RATE as f64 / 2.0);
        let edge = |at: usize| frequency(top * at as f64 / (bins + 1) as f64);
        let triangle = |bin: usize| {
            let [left, middle, right] = [bin, bin + 1, bin + 2].map(edge);
            let weight = |at: usize| {
                let here = (at * RATE) as f64 / WINDOW as f64;
                let rising = (here - left) / (middle - left);
                let falling = (right - here) / (right - middle);
                rising.min(falling).max(0.0) * 2.0 / (right - left)
            };
            let first = (0..FREQUENCIES).find(|&at| weight(at) > 0.0).unwrap_or(0);
            (first, (first..FREQUENCIES).map(weight).take_while(|&weight| weight > 0.0).collect())
        };
        Self { triangles: (0..bins).map(triangle).collect() }
    }

    fn of<'a>(&'a self, power: &'a [f32]) -> impl Iterator<Item = f64> + 'a {
        self.triangles.iter().map(move |(first, weights)| {
            weights.iter().zip(&power[*first..]).map(|(weight, &power)| weight * f64::from(power)).sum()
        })
    }
}

/// Slaney's scale: linear up to 1 kHz, where it is 15, then logarithmic.
fn pitch(frequency: f64) -> f64 {
    let step = 6.4_f64.ln() / 27.0;
    if frequency < 1000.0 { frequency * 0.015 } else { 15.0 + (frequency / 1000.0).ln() / step }
}

fn frequency(pitch: f64) -> f64 {
    let step = 6.4_f64.ln() / 27.0;
    if pitch < 15.0 { pitch / 0.015 } else { 1000.0 * ((pitch - 15.0) * step).exp() }
}

/// A complex number.
type Complex = [f64; 2];

/// The Fourier transform of windows.
struct Transform {
    hann: Vec<f64>,
    /// `e^(−2πi k / WINDOW)`
    turns: Vec<Complex>,
    power: Vec<f32>,
}

impl Transform {
    fn new() -> Self {
        let angle = |at: usize| 2.0 * PI * at as f64 / WINDOW as f64;
        Self {
            hann: (0..WINDOW).map(|at| 0.5 * (1.0 - angle(at).cos())).collect(),
            turns: (0..WINDOW).map(|at| [angle(at).cos(), -angle(at).sin()]).collect(),
            power: vec![0.0; FREQUENCIES],
        }
    }

    /// The power of each frequency.
    fn power(&mut self, samples: &[f32]) -> &[f32] {
        let windowed: Vec<f64> = samples.iter().zip(&self.hann).map(|(&x, hann)| f64::from(x) * hann).collect();
        if windowed.iter().all(|&x| x == 0.0) {
            self.power.fill(0.0);
            return &self.power;
        }
        let found = self.of(&windowed, 0, 1);
        self.power.iter_mut().zip(&found).for_each(|(power, [re, im])| *power = (re * re + im * im) as f32);
        &self.power
    }

    /// Of every `step`-th sample from `first` on: halves while they are even (Cooley and Tukey 1965).
    fn of(&self, samples: &[f64], first: usize, step: usize) -> Vec<Complex> {
        let length = WINDOW / step;
        if length == ODD {
            return (0..length).map(|k| self.sum(samples, (first, step), k)).collect();
        }
        let [even, odd] = [first, first + step].map(|first| self.of(samples, first, 2 * step));
        let mut found = vec![[0.0; 2]; length];
        for k in 0..length / 2 {
            let [cos, sin] = self.turns[k * step];
            let [re, im] = [odd[k][0] * cos - odd[k][1] * sin, odd[k][0] * sin + odd[k][1] * cos];
            found[k] = [even[k][0] + re, even[k][1] + im];
            found[k + length / 2] = [even[k][0] - re, even[k][1] - im];
        }
        found
    }

    fn sum(&self, samples: &[f64], (first, step): (usize, usize), k: usize) -> Complex {
        (0..WINDOW / step).fold([0.0; 2], |[re, im], at| {
            let [cos, sin] = self.turns[k * at * step % WINDOW];
            let x = samples[first + at * step];
            [re + x * cos, im + x * sin]
        })
    }
}
