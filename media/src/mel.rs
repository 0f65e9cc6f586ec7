//! The log-mel spectrogram of Whisper (Radford et al. 2022, <https://arxiv.org/abs/2212.04356>), as llama.cpp's `mtmd`
//! computes it.

use std::f64::consts::LOG10_E;
use std::ops::Range;

use crate::conformer;
use crate::transform::Transform;

/// Sample rate in Hz.
pub const RATE: usize = 16_000;
/// Samples of a window, and of its Fourier transform.
const WINDOW: usize = 400;
/// Samples of Gemma 4's windows; the transform is padded to `TRANSFORM_OF_GEMMA`.
pub const WINDOW_OF_GEMMA: usize = 320;
const TRANSFORM_OF_GEMMA: usize = 512;
/// Lower bound of Gemma 4's magnitudes.
const FLOOR_OF_GEMMA: f64 = 1e-3;
/// Samples of the transform of NeMo's windows.
const TRANSFORM_OF_NEMO: usize = 512;
/// The share of the sample before that NeMo takes from each.
const DAMPING: f32 = 0.97;
/// What NeMo adds to deviations.
const LEAST_DEVIATION: f64 = 1e-5;
/// Lower bound of LFM3's powers.
const FLOOR_OF_LFM3: f64 = 1e-12;
/// Lower bound of Voxtral Realtime's logarithms: eight powers of ten below what it takes for the loudest.
const LEAST_OF_VOXTRAL: f32 = 1.5 - 8.0;
/// Lower bound of Granite Speech's powers.
const FLOOR_OF_PAIRS: f64 = 1e-10;
/// Hop size in samples.
pub const HOP: usize = 160;
/// Frequencies of a window.
const FREQUENCIES: usize = WINDOW / 2 + 1;
/// Lower bound of Whisper's powers, which NeMo adds to its own.
const FLOOR: f64 = 5.960_464_477_539_063e-8;

/// Padding behind a sound. In front of it, half a window is mirrored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// Silence.
    Silent,
    /// Half a window, mirrored.
    Mirrored,
    /// LFM2-Audio: half a window of zeros at both ends. NeMo's form: natural logarithms of samples whose low
    /// frequencies are damped, each bin with mean 0 and deviation 1.
    Centred,
    /// LFM3: zeros that fill up the last window, and nothing in front.
    Filled,
    /// Voxtral Realtime: half a window of zeros in front. Values are clamped by a number that no sound changes.
    Steady,
    /// Granite Speech: half a window, mirrored; transforms and filters as for LFM2-Audio and Gemma 4.
    Paired,
}

impl Ends {
    /// The number of frames of a sound: with silence or filled up, frames that contain any sample; else frames whose
    /// middle is a sample or the one right behind the last.
    pub fn frames(self, samples: usize) -> usize {
        match self {
            Self::Silent => (samples.max(FREQUENCIES) + WINDOW / 2).div_ceil(HOP),
            Self::Mirrored | Self::Centred | Self::Paired => samples / HOP + 1,
            Self::Steady => samples / HOP,
            Self::Filled => samples.saturating_sub(WINDOW).div_ceil(HOP) + 1,
        }
    }
}

/// A spectrogram: frame by frame, `bins` values each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mel {
    /// Values of a frame.
    pub bins: usize,
    /// `[frames, bins]`
    pub values: Vec<f32>,
    /// The value of silence.
    pub silence: f32,
}

impl Mel {
    /// The number of frames.
    pub fn frames(&self) -> usize {
        self.values.len() / self.bins
    }

    /// The value of a bin, or silence past the end.
    pub fn at(&self, frame: usize, bin: usize) -> f32 {
        self.values.get(frame * self.bins + bin).copied().unwrap_or(self.silence)
    }
}

/// A spectrogram that is computed in steps.
pub struct Spectrogram {
    samples: Vec<f32>,
    /// Padding for Whisper; `None`: Gemma 4's form, natural logarithms of magnitudes, with the frames of all pieces.
    ends: Option<Ends>,
    filters: Filters,
    transform: Transform,
    mel: Mel,
    most: f32,
    /// The range of samples of the current piece, and its next frame.
    piece: Range<usize>,
    frame: usize,
}

impl Spectrogram {
    /// Frames of a step, which takes a phone some milliseconds.
    const STEP: usize = 128;

    /// Starts a spectrogram of samples at 16 kHz; `ends` is `None` for Gemma 4.
    pub fn new(mut samples: Vec<f32>, bins: usize, ends: Option<Ends>) -> Self {
        let (scale, windows, silence) = match ends {
            Some(Ends::Centred) => (Scale::Slaney, [WINDOW, TRANSFORM_OF_NEMO], 0.0),
            Some(Ends::Filled) => (Scale::Slaney, [WINDOW; 2], FLOOR_OF_LFM3.ln() * LOG10_E),
            Some(Ends::Paired) => (Scale::Htk, [WINDOW, TRANSFORM_OF_NEMO], FLOOR_OF_PAIRS.ln() * LOG10_E),
            Some(_) => (Scale::Slaney, [WINDOW; 2], FLOOR.ln() * LOG10_E),
            None => (Scale::Htk, [WINDOW_OF_GEMMA, TRANSFORM_OF_GEMMA], FLOOR_OF_GEMMA.ln()),
        };
        let is_centred = ends == Some(Ends::Centred);
        if is_centred {
            (1..samples.len()).rev().for_each(|at| samples[at] -= DAMPING * samples[at - 1]);
        }
        let end = if ends.is_some() { samples.len() } else { samples.len().min(conformer::SAMPLES) };
        Self {
            samples,
            ends,
            filters: Filters::new(bins, scale, windows[1]),
            transform: Transform::new(windows, windows[0] - usize::from(is_centred)),
            mel: Mel { bins, values: Vec::new(), silence: silence as f32 },
            most: f32::MIN,
            piece: 0..end,
            frame: 0,
        }
    }

    /// Computes some frames; returns false once all are there.
    pub fn step(&mut self) -> bool {
        let end = self.frame + Self::STEP;
        let frames = match self.ends {
            Some(ends) => ends.frames(self.piece.len()),
            None => conformer::frames(self.piece.len()),
        };
        while self.frame < end.min(frames) {
            self.pair(frames - self.frame);
        }
        if self.frame < frames {
            return true;
        }
        let (start, count) = (self.piece.end, self.samples.len());
        (self.piece, self.frame) = (start..(start + conformer::SAMPLES).min(count), 0);
        start < count
    }

    /// Goes on with further samples of a sound with [`Ends::Steady`]. Returns the frames that no later sample changes
    /// and that were not returned before, two by two, as they are computed.
    pub fn go_on(&mut self, samples: &[f32]) -> Vec<f32> {
        self.samples.extend_from_slice(samples);
        self.piece = 0..self.samples.len();
        while (self.frame + 1) * HOP + WINDOW / 2 <= self.samples.len() {
            self.pair(2);
        }
        // What frames to come read begins half a window before their middle.
        let over = self.frame.saturating_sub(WINDOW.div_ceil(2 * HOP));
        self.samples.drain(..over * HOP);
        self.frame -= over;
        let values = std::mem::take(&mut self.mel.values);
        values.into_iter().map(|value| (value.max(LEAST_OF_VOXTRAL) + 4.0) / 4.0).collect()
    }

    /// Computes two frames, or the last one.
    fn pair(&mut self, left: usize) {
        let windows = [0, 1].map(|next| self.window(self.frame + next));
        for power in self.transform.powers([&windows[0], &windows[1]]).iter_mut().take(left) {
            if self.ends.is_none() {
                power.iter_mut().for_each(|power| *power = power.sqrt());
            }
            for sum in self.filters.of(power) {
                let value = match self.ends {
                    Some(Ends::Centred) => (sum + FLOOR).ln(),
                    Some(Ends::Filled) => sum.max(FLOOR_OF_LFM3).ln() * LOG10_E,
                    Some(Ends::Paired) => sum.max(FLOOR_OF_PAIRS).ln() * LOG10_E,
                    Some(_) => sum.max(FLOOR).ln() * LOG10_E,
                    None => sum.max(FLOOR_OF_GEMMA).ln(),
                } as f32;
                self.most = self.most.max(value);
                self.mel.values.push(value);
            }
        }
        self.frame += left.min(2);
    }

    /// The samples of a frame's window, with padding around the piece.
    fn window(&self, frame: usize) -> Vec<f32> {
        let samples = &self.samples[self.piece.clone()];
        let count = samples.len();
        let (before, length) = match self.ends {
            Some(Ends::Filled) => (0, WINDOW),
            Some(_) => (WINDOW / 2, WINDOW),
            None => (WINDOW_OF_GEMMA / 2, TRANSFORM_OF_GEMMA),
        };
        let is_mirrored = matches!(self.ends, Some(Ends::Mirrored | Ends::Paired));
        let at = |index: usize| match index.checked_sub(before) {
            None if matches!(self.ends, Some(Ends::Silent | Ends::Mirrored | Ends::Paired)) => before - index,
            None => count,
            // Mirroring maps index `count` to the last sample but one.
            Some(own) if own >= count && own < count + before && is_mirrored => {
                (2 * count).checked_sub(own + 2).unwrap_or(count)
            }
            Some(own) => own,
        };
        let indices = frame * HOP..frame * HOP + length;
        indices.map(|index| samples.get(at(index)).copied().unwrap_or(0.0)).collect()
    }

    /// Scales some values with each call; returns the spectrogram once all are scaled.
    pub fn scale(&mut self) -> Option<Mel> {
        if self.ends == Some(Ends::Centred) {
            self.normalise();
        } else if let Some(ends) = self.ends {
            // Values are clamped to at least eight powers of ten below the loudest.
            let least = match ends {
                Ends::Filled => f32::MIN,
                Ends::Steady => LEAST_OF_VOXTRAL,
                _ => self.most - 8.0,
            };
            let scaled = |value: f32| (value.max(least) + 4.0) / 4.0;
            let start = self.frame.min(self.mel.values.len());
            let end = (start + (1 << 20)).min(self.mel.values.len());
            self.mel.values[start..end].iter_mut().for_each(|value| *value = scaled(*value));
            self.frame = end;
            if end < self.mel.values.len() {
                return None;
            }
            self.mel.silence = scaled(self.mel.silence);
        }
        Some(std::mem::take(&mut self.mel))
    }

    /// Makes mean 0 and deviation 1 of each bin, over the frames that begin within the sound; others become 0.
    fn normalise(&mut self) {
        let bins = self.mel.bins;
        let count = (self.samples.len() / HOP).min(self.mel.frames());
        let (own, others) = self.mel.values.split_at_mut(count * bins);
        others.fill(0.0);
        for bin in 0..bins {
            let values = || own.iter().skip(bin).step_by(bins).map(|&value| f64::from(value));
            let mean = values().sum::<f64>() / count.max(1) as f64;
            let squares: f64 = values().map(|value| (value - mean).powi(2)).sum();
            let deviation = (squares / count.saturating_sub(1).max(1) as f64).sqrt() + LEAST_DEVIATION;
            own.iter_mut()
                .skip(bin)
                .step_by(bins)
                .for_each(|value| *value = ((f64::from(*value) - mean) / deviation) as f32);
        }
    }
}

/// A scale of pitch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// Linear up to 1 kHz (15 mel), then logarithmic; filters have area 1.
    Slaney,
    /// `2595 · log10(1 + f / 700)`; filters have height 1.
    Htk,
}

/// Triangular mel filters, of equal width on the scale, from 0 to 8 kHz.
struct Filters {
    /// The first frequency of each filter, and its weights.
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
