//! Image resizing that equals Pillow's byte by byte, or torchvision's: a separable filter in fixed point, columns
//! before rows.

use crate::sizes::Size;
use crate::steps::Meter;

/// A resampling filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// A triangle.
    Bilinear,
    /// Catmull and Rom's spline (a = −0.5).
    Bicubic,
    /// Lanczos' window of three lobes.
    Lanczos,
    /// As [`Self::Bilinear`], with weights of 16 bits, as torchvision has them.
    ShortBilinear,
    /// As [`Self::Bicubic`], with weights of 16 bits.
    ShortBicubic,
}

impl Filter {
    /// Radius in pixels of the larger of the two images.
    fn support(self) -> f64 {
        match self {
            Self::Bilinear | Self::ShortBilinear => 1.0,
            Self::Bicubic | Self::ShortBicubic => 2.0,
            Self::Lanczos => 3.0,
        }
    }

    /// Whether weights have 16 bits.
    fn is_short(self) -> bool {
        matches!(self, Self::ShortBilinear | Self::ShortBicubic)
    }

    fn weight(self, x: f64) -> f64 {
        const A: f64 = -0.5;
        let distance = x.abs();
        match self {
            Self::Bilinear | Self::ShortBilinear => (1.0 - distance).max(0.0),
            Self::Bicubic | Self::ShortBicubic if distance < 1.0 => {
                ((A + 2.0) * distance - (A + 3.0)) * distance * distance + 1.0
            }
            Self::Bicubic | Self::ShortBicubic if distance < 2.0 => {
                (((distance - 5.0) * distance + 8.0) * distance - 4.0) * A
            }
            Self::Bicubic | Self::ShortBicubic => 0.0,
            Self::Lanczos if (-3.0..3.0).contains(&x) => sinc(x) * sinc(x / 3.0),
            Self::Lanczos => 0.0,
        }
    }
}

fn sinc(x: f64) -> f64 {
    let x = x * std::f64::consts::PI;
    if x == 0.0 { 1.0 } else { x.sin() / x }
}

/// Fractional bits of a weight.
const BITS: u32 = 22;

/// The source pixels of one result pixel, and their weights.
struct Taps {
    first: usize,
    weights: Vec<i32>,
}

/// The taps of each result pixel along one axis.
fn taps(from: usize, to: usize, filter: Filter) -> Vec<Taps> {
    let scale = from as f64 / to as f64;
    let wide = scale.max(1.0);
    let (support, narrow) = (filter.support() * wide, 1.0 / wide);
    let of_pixel = |pixel: usize| {
        let centre = (pixel as f64 + 0.5) * scale;
        // The cast truncates, and saturates at 0.
        let first = (centre - support + 0.5) as usize;
        let end = ((centre + support + 0.5) as usize).min(from);
        let weights = (first..end).map(|j| filter.weight((j as f64 - centre + 0.5) * narrow));
        let weights: Vec<f64> = weights.collect();
        let sum: f64 = weights.iter().sum();
        let share = |&weight: &f64| if sum == 0.0 { weight } else { weight / sum };
        (first, weights.iter().map(share).collect::<Vec<f64>>())
    };
    let shares: Vec<_> = (0..to).map(of_pixel).collect();
    let bits = if filter.is_short() { short_bits(shares.iter().flat_map(|(_, shares)| shares)) } else { BITS };
    let fixed = |&share: &f64| {
        let scaled = share * f64::from(1 << bits);
        ((scaled + if scaled < 0.0 { -0.5 } else { 0.5 }) as i32) << (BITS - bits)
    };
    let of_pixel =
        |(first, shares): &(usize, Vec<f64>)| Taps { first: *first, weights: shares.iter().map(fixed).collect() };
    shares.iter().map(of_pixel).collect()
}

/// Fractional bits of weights in 16 bits: as many as the largest of them allows.
fn short_bits<'a>(shares: impl Iterator<Item = &'a f64>) -> u32 {
    let largest = shares.copied().fold(0.0, f64::max);
    let fits = |bits: &u32| ((largest * f64::from(1 << (bits + 1)) + 0.5) as i32) < 1 << 15;
    (0..BITS).find(|bits| !fits(bits)).unwrap_or(BITS)
}

/// Pixels `[from.height, from.width, 3]` → `[to.height, to.width, 3]`.
pub async fn resize(rgb: &[u8], from: Size, to: Size, filter: Filter) -> Vec<u8> {
    let narrowed = match from.width == to.width {
        true => None,
        false => Some(columns(rgb, from, to.width, filter).await),
    };
    let rgb = narrowed.as_deref().unwrap_or(rgb);
    if from.height == to.height {
        return rgb.to_vec();
    }
    rows(rgb, Size { width: to.width, ..from }, to.height, filter).await
}

fn rounded(sum: i32) -> u8 {
    (sum >> BITS).clamp(0, 255) as u8
}

const HALF: i32 = 1 << (BITS - 1);

async fn columns(rgb: &[u8], from: Size, width: usize, filter: Filter) -> Vec<u8> {
    let taps = taps(from.width, width, filter);
    let of_line: usize = taps.iter().map(|taps| taps.weights.len() * 3).sum();
    let (mut made, mut meter) = (Vec::with_capacity(width * from.height * 3), Meter::default());
    for line in rgb.chunks_exact(from.width * 3) {
        meter.add(of_line).await;
        for Taps { first, weights } in &taps {
            let mut sums = [HALF; 3];
            for (pixel, weight) in line[first * 3..].chunks_exact(3).zip(weights) {
                sums.iter_mut().zip(pixel).for_each(|(sum, &of)| *sum += i32::from(of) * weight);
            }
            made.extend(sums.map(rounded));
        }
    }
    made
}

async fn rows(rgb: &[u8], from: Size, height: usize, filter: Filter) -> Vec<u8> {
    let line = from.width * 3;
    let (mut made, mut meter) = (Vec::with_capacity(line * height), Meter::default());
    let mut sums = vec![0; line];
    for Taps { first, weights } in taps(from.height, height, filter) {
        meter.add(weights.len() * line).await;
        sums.fill(HALF);
        for (pixels, weight) in rgb[first * line..].chunks_exact(line).zip(weights) {
            sums.iter_mut().zip(pixels).for_each(|(sum, &of)| *sum += i32::from(of) * weight);
        }
        made.extend(sums.iter().map(|&sum| rounded(sum)));
    }
    made
}
