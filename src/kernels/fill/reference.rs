//! The same word everywhere.

/// Sets the first `words` words of `y` to `value`.
///
/// # Panics
/// If `y` has fewer.
pub fn fill(words: usize, value: u32, y: &mut [u32]) {
    y[..words].fill(value);
}
