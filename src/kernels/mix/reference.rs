//! Sums of weighted rows.

use super::{Mode, Shape};
use crate::simd::add_scaled;

/// y `[rows, parts · width]` of `shape` from x `[any, width]`, by indices and weights `[rows, parts, taps]`.
///
/// # Panics
/// If there are not as many taps as y takes, or one of a weight other than 0 is no row of x.
pub fn mix(shape: Shape, [indices, weights]: [&[u32]; 2], x: &[f32], y: &mut [f32]) {
    let Shape { width, parts, taps, by_value, mode } = shape;
    let rows = y.len() / (width * parts);
    assert!(indices.len() == rows * parts * taps && weights.len() == indices.len(), "taps for {rows} rows");
    for (of_part, (indices, weights)) in indices.chunks_exact(taps).zip(weights.chunks_exact(taps)).enumerate() {
        let (row, part) = (of_part / parts, of_part % parts);
        let is_read = weights.iter().any(|&weight| f32::from_bits(weight) != 0.0);
        let mut sums = vec![0.0_f32; width];
        for (&index, &weight) in indices.iter().zip(weights) {
            let weight = f32::from_bits(weight);
            if weight != 0.0 {
                let x = &x[index as usize * width..][..width];
                add_scaled(&mut sums, weight, x);
            }
        }
        let y = &mut y[row * width * parts..][..width * parts];
        for (value, sum) in sums.into_iter().enumerate() {
            let y = &mut y[if by_value { value * parts + part } else { part * width + value }];
            *y = match mode {
                Mode::Write => sum,
                Mode::Add => *y + sum,
                Mode::Replace if is_read => sum,
                Mode::Replace => *y,
            };
        }
    }
}

/// y `[rows, width]`: a depthwise convolution of x `[any, width]` with a kernel `[width, taps]`, by indices and weights
/// `[rows, taps]`.
///
/// # Panics
/// If a tap of a weight other than 0 is no row of x.
pub fn mix_channels(
    [width, taps]: [usize; 2],
    [indices, weights]: [&[u32]; 2],
    [x, kernel]: [&[f32]; 2],
    y: &mut [f32],
) {
    let taps_of_rows = indices.chunks_exact(taps).zip(weights.chunks_exact(taps));
    for (y, (indices, weights)) in y.chunks_exact_mut(width).zip(taps_of_rows) {
        y.fill(0.0);
        for (t, (&index, &weight)) in indices.iter().zip(weights).enumerate() {
            let weight = f32::from_bits(weight);
            if weight != 0.0 {
                let x = &x[index as usize * width..][..width];
                let kernel = kernel[t..].iter().step_by(taps);
                y.iter_mut().zip(x).zip(kernel).for_each(|((y, x), of_channel)| *y += weight * of_channel * x);
            }
        }
    }
}

/// y `[rows, width] = a [rows, taps] · x [taps, width]`.
pub fn project([taps, width]: [usize; 2], a: &[f32], x: &[f32], y: &mut [f32]) {
    for (a, y) in a.chunks_exact(taps).zip(y.chunks_exact_mut(width)) {
        y.fill(0.0);
        for (a, x) in a.iter().zip(x.chunks_exact(width)) {
            add_scaled(y, *a, x);
        }
    }
}
