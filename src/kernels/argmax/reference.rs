//! Greedy choice.

/// The index of the largest of `logits` `[n]`, the first one where several are equal. NaN is never chosen; 0 if all are
/// NaN.
///
/// # Panics
/// If `logits` is empty.
pub fn argmax(logits: &[f32]) -> usize {
    assert!(!logits.is_empty(), "argmax of nothing");
    let mut best = (0, f32::NEG_INFINITY);
    for (index, &logit) in logits.iter().enumerate() {
        if logit > best.1 {
            best = (index, logit);
        }
    }
    best.0
}
