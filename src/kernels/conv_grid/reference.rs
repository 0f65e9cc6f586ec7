//! Convolutions over a square grid.

use crate::model::program::{CellKind, CellSpec};

/// The cells of y `[.., outputs]`, as far as there are any in `spec`, from x `[.., width]`. Rows of x that there are
/// not count as 0. `weights`: a kernel and a bias, empty where there is none.
#[inline(never)]
pub fn conv_grid(spec: &CellSpec, x: &[f32], [kernel, bias]: [&[f32]; 2], y: &mut [f32]) {
    for (cell, y) in y.chunks_exact_mut(spec.outputs).take(spec.out * spec.out).enumerate() {
        y.fill(0.0);
        for tap in 0..spec.taps() {
            if let Some(x) = spec.seen(cell, tap).and_then(|row| x.get(row * spec.width..(row + 1) * spec.width)) {
                add_cell(spec, tap, [x, kernel], y);
            }
        }
        y.iter_mut().zip(bias).for_each(|(y, bias)| *y += bias);
    }
}

/// What one cell of x adds to a cell of y.
fn add_cell(spec: &CellSpec, tap: usize, [x, kernel]: [&[f32]; 2], y: &mut [f32]) {
    let taps = spec.taps();
    match spec.kind {
        CellKind::Beside => y[tap..].iter_mut().step_by(taps).zip(x).for_each(|(y, x)| *y = *x),
        CellKind::Mean => y.iter_mut().zip(x).for_each(|(y, x)| *y += x / taps as f32),
        CellKind::Depthwise(_) => {
            let kernel = kernel[tap..].iter().step_by(taps);
            y.iter_mut().zip(x).zip(kernel).for_each(|((y, x), of_channel)| *y += of_channel * x);
        }
        CellKind::Dense(..) => {
            for (y, kernel) in y.iter_mut().zip(kernel.chunks_exact(spec.width * taps)) {
                *y += kernel[tap..].iter().step_by(taps).zip(x).map(|(of, x)| of * x).sum::<f32>();
            }
        }
    }
}
