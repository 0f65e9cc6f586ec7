//! Writes new rows into a cache that wraps around when it is full.

use crate::gguf::f16_from_f32;

/// Writes the rows of one head to `cache` `[rows, width]` f16, the first at row `position` modulo the number of
/// rows; the padding up to `width` becomes 0.
pub fn kv_write(cache: &mut [u16], width: usize, position: usize, new: &[&[f32]]) {
    let rows = cache.len() / width;
    for (t, values) in new.iter().enumerate() {
        let row = &mut cache[(position + t) % rows * width..][..width];
        row.fill(0);
        row.iter_mut().zip(*values).for_each(|(to, &value)| *to = f16_from_f32(value));
    }
}
