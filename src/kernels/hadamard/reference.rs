//! Walsh–Hadamard rotations.

use crate::model::Rotation;

/// A row of x, rotated.
pub fn hadamard(rotation: &Rotation, x: &[f32]) -> Vec<f32> {
    let sign = |col: usize, value: f32| if rotation.is_negative(col) { -value } else { value };
    let mut y: Vec<f32> = (0..x.len()).map(|col| x[rotation.source(col)]).collect();
    if !rotation.is_inverse {
        y.iter_mut().enumerate().for_each(|(col, value)| *value = sign(col, *value));
    }
    let scale = 1.0 / (rotation.block as f32).sqrt();
    for block in y.chunks_exact_mut(rotation.block) {
        transform(block);
        block.iter_mut().for_each(|value| *value *= scale);
    }
    if rotation.is_inverse {
        y.iter_mut().enumerate().for_each(|(col, value)| *value = sign(col, *value));
    }
    y
}

/// H without its factor, by sums and differences of pairs.
fn transform(block: &mut [f32]) {
    let mut half = 1;
    while half < block.len() {
        for pairs in block.chunks_exact_mut(2 * half) {
            let (low, high) = pairs.split_at_mut(half);
            low.iter_mut().zip(high).for_each(|(low, high)| (*low, *high) = (*low + *high, *low - *high));
        }
        half *= 2;
    }
}
