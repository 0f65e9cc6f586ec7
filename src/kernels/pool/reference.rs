//! Rows of an input to one vector.

use crate::model::program::PoolKind;

/// x `[rows, width]` → `[width]`: the mean of the rows, the first or the last.
///
/// # Panics
/// If there are no rows.
pub fn pool(kind: PoolKind, width: usize, x: &[f32]) -> Vec<f32> {
    let rows = x.len() / width;
    assert!(rows > 0, "an input without rows");
    match kind {
        PoolKind::First => x[..width].to_vec(),
        PoolKind::Last => x[(rows - 1) * width..].to_vec(),
        PoolKind::Mean => {
            let column = |i: usize| x.iter().skip(i).step_by(width).map(|&v| f64::from(v)).sum::<f64>();
            (0..width).map(|i| (column(i) / rows as f64) as f32).collect()
        }
    }
}
