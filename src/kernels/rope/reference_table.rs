//! Tables of rotations and YaRN's scaling, in f64.

/// The numbers of YaRN (Peng et al. 2023, <https://arxiv.org/abs/2309.00071>).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct YarnScaling {
    /// Context over trained context.
    pub factor: f64,
    /// Trained context.
    pub original_context: f64,
    /// Rotations over the trained context from which on a pair keeps its frequency, and up to which it is interpolated.
    pub betas: (f64, f64),
}

/// Scales `frequencies` `[pairs]`, in radians per position, by YaRN: those between the two bounds are scaled in part,
/// by a linear ramp over their indices whose ends are whole indices. Returns the factor for cosines and sines.
pub fn yarn(frequencies: &mut [f64], base: f64, scaling: &YarnScaling) -> f64 {
    let dims = 2.0 * frequencies.len() as f64;
    // base^(-2i/dims) · context / 2π = turns, solved for i.
    let index = |turns: f64| {
        let frequency = turns * std::f64::consts::TAU / scaling.original_context;
        -frequency.log(base) * dims / 2.0
    };
    let first = index(scaling.betas.0).floor().max(0.0);
    let last = index(scaling.betas.1).ceil().min(dims - 1.0).max(first + 0.001);
    for (i, frequency) in frequencies.iter_mut().enumerate() {
        let slow = ((i as f64 - first) / (last - first)).clamp(0.0, 1.0);
        *frequency = slow * *frequency / scaling.factor + (1.0 - slow) * *frequency;
    }
    1.0 + 0.1 * scaling.factor.max(1.0).ln()
}

/// Cosine and sine of every pair, times `factor`, for `positions` positions from `first` on: `[positions, pairs, 2]`.
pub fn rope_table(first: usize, positions: usize, frequencies: &[f64], factor: f64) -> Vec<f32> {
    let row = |position: usize| {
        frequencies.iter().flat_map(move |frequency| {
            let (sin, cos) = (position as f64 * frequency).sin_cos();
            [(cos * factor) as f32, (sin * factor) as f32]
        })
    };
    (first..first + positions).flat_map(row).collect()
}
