//! What two rows of logits say, compared.

/// The largest difference of the log-probabilities that two rows of logits give.
pub fn difference(found: &[f32], expected: &[f32]) -> f32 {
    let log = |values: &[f32]| -> Vec<f32> {
        let high = values.iter().copied().fold(f32::MIN, f32::max);
        let sum: f32 = values.iter().map(|x| (x - high).exp()).sum();
        values.iter().map(|x| x - high - sum.ln()).collect()
    };
    assert_eq!(found.len(), expected.len());
    log(found).iter().zip(log(expected)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}
