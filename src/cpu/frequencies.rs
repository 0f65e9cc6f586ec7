//! The frequencies of rotary embeddings.

use crate::kernels::reference::{YarnScaling, frequencies, yarn};
use crate::model::RopeScaling;
use crate::model::program::RopeTable;

/// Radians per position of each rotated pair.
pub(super) fn scaled_frequencies(table: &RopeTable, factors: Option<&[f32]>) -> Vec<f64> {
    let RopeScaling { scale, yarn: ramp, .. } = table.scaling;
    let Some(ramp) = ramp else { return frequencies(table.dims, table.theta, scale, factors) };
    let mut found = frequencies(table.dims, table.theta, 1.0, factors);
    let scaling = YarnScaling {
        factor: f64::from(scale).recip(),
        original_context: ramp.original_context as f64,
        betas: (f64::from(ramp.beta_fast), f64::from(ramp.beta_slow)),
    };
    // The factor for cosines and sines is the table's.
    yarn(&mut found, f64::from(table.theta), &scaling);
    found
}
