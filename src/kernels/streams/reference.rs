//! Streams that become others.

use super::Shape;
use crate::simd::add_scaled;

/// For each row `y[i] += Σ_j (plus + Σ_k w[i, j, k] · tanh(router[k] / width)) · x[j]` over streams of `width` values,
/// from stream `first` on: `y` `[rows, streams, width]`, which holds the base, `x` `[rows, streams of x, width]`,
/// `router` `[rows, routes]`, and `w` `[streams, inputs, routes]`; without routes all weights are `plus`.
pub fn streams(shape: &Shape, x: &[f32], [router, w]: [&[f32]; 2], y: &mut [f32]) {
    let Shape { width, streams, inputs: [of_x, inputs], first, routes, plus, .. } = *shape;
    for (r, y) in y.chunks_exact_mut(streams * width).enumerate() {
        let routes: Vec<f32> =
            router[r * routes..][..routes].iter().map(|logit| (logit / width as f32).tanh()).collect();
        for (i, y) in y.chunks_exact_mut(width).enumerate().skip(first) {
            for j in 0..inputs {
                let w = &w[(i * inputs + j) * routes.len()..][..routes.len()];
                let weight = w.iter().zip(&routes).fold(plus, |sum, (w, route)| sum + w * route);
                let x = &x[(r * of_x + j) * width..][..width];
                add_scaled(y, weight, x);
            }
        }
    }
}
