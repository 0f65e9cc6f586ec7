//! The log-mel spectrogram of Whisper (Radford et al. 2022, <https://arxiv.org/abs/2212.04356>), as llama.cpp's `mtmd`
//! computes it.

use std::f64::consts::LOG10_E;

use crate::conformer;
use crate::transform::Transform;

/// Samples of a second.
pub const RATE: usize = 16_000;
/// Samples of a window, which its transform has, too.
const WINDOW: usize = 400;
/// Samples of a window of Gemma 4, and of its transform.
pub const WINDOW_OF_GEMMA: usize = 320;
const TRANSFORM_OF_GEMMA: usize = 512;
/// Of Gemma 4 what is less than this counts as this.
const FLOOR_OF_GEMMA: f64 = 1e-3;
/// Samples from one window to the next.
pub const HOP: usize = 160;
/// Frequencies of a window.
const FREQUENCIES: usize = WINDOW / 2 + 1;
/// What is less than this counts as this.
const FLOOR: f64 = 5.960_464_477_539_063e-8;

/// What is in front of a sound and behind it. In front half a window is mirrored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// Silence behind it.
    Silent,
    /// Half a window mirrored behind it, too.
    Mirrored,
}

impl Ends {
    /// Frames of so many samples: as many as have any of them, or whose middle is among them or right behind.
    pub fn frames(self, samples: usize) -> usize {
        match self {
            Self::Silent => (samples.max(FREQUENCIES) + WINDOW / 2).div_ceil(HOP),
            Self::Mirrored => samples / HOP + 1,
        }
    }

    /// The samples with what surrounds them.
    fn padded(self, samples: &[f32]) -> Vec<f32> {
        let half = WINDOW / 2;
        let at = |index: usize| samples.get(index).copied().unwrap_or(0.0);
        let mut padded: Vec<f32> = (1..=half).rev().map(at).collect();
        match self {
            Self::Silent => {
                let length = samples.len().max(half + 1);
                padded.extend((0..length).map(at));
                padded.resize(padded.len() + WINDOW, 0.0);
            }
            Self::Mirrored => {
                padded.extend(samples);
                padded.extend((2..half + 2).map(|back| samples.len().checked_sub(back).map_or(0.0, at)));
            }
        }
        padded
    }
}

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
    /// Of samples at 16 kHz.
    pub fn of(samples: &[f32], bins: usize, ends: Ends) -> Self {
        let (padded, frames) = (ends.padded(samples), ends.frames(samples.len()));
        let (filters, mut transform) = (Filters::new(bins, Scale::Slaney, WINDOW), Transform::new([WINDOW; 2]));
        let mut values = Vec::with_capacity(frames * bins);
        for first in (0..frames).step_by(2) {
            let windows = [first, first + 1].map(|frame| window(&padded, frame * HOP, WINDOW));
            for power in transform.powers(windows).iter().take(frames - first) {
                values.extend(filters.of(power).map(|sum| (sum.max(FLOOR).ln() * LOG10_E) as f32));
            }
        }
        // What is more than eight powers of ten below the loudest is raised to that.
        let least = values.iter().fold(f32::MIN, |most, &value| most.max(value)) - 8.0;
        let scaled = |value: f32| (value.max(least) + 4.0) / 4.0;
        values.iter_mut().for_each(|value| *value = scaled(*value));
        Self { bins, values, silence: scaled((FLOOR.ln() * LOG10_E) as f32) }
    }

    /// Of Gemma 4: the natural logarithms of magnitudes, the frames of all pieces of a sound at 16 kHz.
    pub fn of_gemma(samples: &[f32], bins: usize) -> Self {
        let filters = Filters::new(bins, Scale::Htk, TRANSFORM_OF_GEMMA);
        let mut transform = Transform::new([WINDOW_OF_GEMMA, TRANSFORM_OF_GEMMA]);
        let mut values = Vec::new();
        for piece in samples.chunks(conformer::SAMPLES) {
            let mut padded = vec![0.0; WINDOW_OF_GEMMA / 2];
            padded.extend(piece);
            let frames = conformer::frames(piece.len());
            padded.resize(frames * HOP + TRANSFORM_OF_GEMMA, 0.0);
            for first in (0..frames).step_by(2) {
                let windows = [first, first + 1].map(|frame| window(&padded, frame * HOP, TRANSFORM_OF_GEMMA));
                for power in transform.powers(windows).iter().take(frames - first) {
                    let magnitudes: Vec<f32> = power.iter().map(|power| power.sqrt()).collect();
                    values.extend(filters.of(&magnitudes).map(|sum| sum.max(FLOOR_OF_GEMMA).ln() as f32));
                }
            }
        }
        Self { bins, values, silence: FLOOR_OF_GEMMA.ln() as f32 }
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

/// A scale of pitch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// Linear up to 1 kHz, where it is 15, then logarithmic; triangles have the area 1.
    Slaney,
    /// `2595 · log10(1 + f / 700)`; triangles have the height 1.
    Htk,
}

/// Triangles of equal width on a scale of pitch, 0 to 8 kHz.
struct Filters {
    /// The first frequency of each, and its weights.
    triangles: Vec<(usize, Vec<f64>)>,
}

impl Filters {
    fn new(bins: usize, scale: Scale, transform: usize) -> Self {
        let top = scale.pitch(RATE as f64 / 2.0);
        let edge = |at: usize| scale.frequency(top * at as f64 / (bins + 1) as f64);
        let frequencies = transform / 2 + 1;
        let triangle = |bin: usize| {
            let [left, middle, right] = [bin, bin + 1, bin + 2].map(edge);
            let weight = |at: usize| {
                let here = (at * RATE) as f64 / transform as f64;
                let rising = (here - left) / (middle - left);
                let falling = (right - here) / (right - middle);
                let height = if scale == Scale::Slaney { 2.0 / (right - left) } else { 1.0 };
                rising.min(falling).max(0.0) * height
            };
            let first = (0..frequencies).find(|&at| weight(at) > 0.0).unwrap_or(0);
            (first, (first..frequencies).map(weight).take_while(|&weight| weight > 0.0).collect())
        };
        Self { triangles: (0..bins).map(triangle).collect() }
    }

    fn of<'a>(&'a self, power: &'a [f32]) -> impl Iterator<Item = f64> + 'a {
        self.triangles.iter().map(move |(first, weights)| {
            weights.iter().zip(&power[*first..]).map(|(weight, &power)| weight * f64::from(power)).sum()
        })
    }
}

/// Powers and decimal logarithms by `exp` and `ln`: `powf` and `log10` take 1 KB of the module.
impl Scale {
    fn pitch(self, frequency: f64) -> f64 {
        let step = 6.4_f64.ln() / 27.0;
        match self {
            Self::Slaney if frequency < 1000.0 => frequency * 0.015,
            Self::Slaney => 15.0 + (frequency / 1000.0).ln() / step,
            Self::Htk => 2595.0 * LOG10_E * (1.0 + frequency / 700.0).ln(),
        }
    }

    fn frequency(self, pitch: f64) -> f64 {
        let step = 6.4_f64.ln() / 27.0;
        match self {
            Self::Slaney if pitch < 15.0 => pitch / 0.015,
            Self::Slaney => 1000.0 * ((pitch - 15.0) * step).exp(),
            Self::Htk => 700.0 * ((pitch / 2595.0 / LOG10_E).exp() - 1.0),
        }
    }
}

/// The `length` samples from `start` on; none behind the last.
fn window(samples: &[f32], start: usize, length: usize) -> &[f32] {
    samples.get(start..start + length).unwrap_or_default()
}
