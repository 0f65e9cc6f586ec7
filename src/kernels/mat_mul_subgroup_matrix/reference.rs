//! A row of activations in f16, scaled so that none overflows.

use crate::gguf::{f16_from_f32, f16_to_f32};
use crate::kernels::layout::BLOCK;

/// A row, or a block of one, as f16 numbers: value ≈ `scale` · half.
#[derive(Debug, Clone, PartialEq)]
pub struct HalfRow {
    /// The power of two that brings the largest magnitude to between 2¹⁴ and 2¹⁵; of a block, to between 2 and 4.
    pub scale: f32,
    /// Bits of f16: whole blocks of 32, with zeros behind the row's values.
    pub halves: Vec<u16>,
}

/// Rounds a row of finite numbers to the nearest halves.
pub fn round_f16(row: &[f32]) -> HalfRow {
    let largest = row.iter().fold(0f32, |max, x| max.max(x.abs()));
    let exponent = (largest.to_bits() >> 23).max(15) - 14;
    let scale = f32::from_bits(exponent << 23);
    HalfRow::new(row, scale)
}

impl HalfRow {
    /// Rounds the quotients of values and a scale.
    pub fn new(values: &[f32], scale: f32) -> Self {
        let mut halves: Vec<u16> = values.iter().map(|x| f16_from_f32(x / scale)).collect();
        halves.resize(values.len().next_multiple_of(BLOCK as usize), 0);
        Self { scale, halves }
    }

    /// The rounded values, and zeros behind them.
    pub fn values(&self) -> impl Iterator<Item = f32> + '_ {
        self.halves.iter().map(|&half| self.scale * f16_to_f32(half))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_any_size_keep_eleven_bits() {
        for size in [1e-30f32, 1e-3, 1.0, 65_505.0, 3e38] {
            let row: Vec<f32> = (1..40).map(|i| size * (i as f32 / 40.0).powi(3) * (-1f32).powi(i)).collect();
            let rounded = round_f16(&row);
            for (value, x) in rounded.values().zip(&row) {
                assert!((value - x).abs() <= x.abs() / 2048.0, "{x} became {value}");
            }
        }
    }

    #[test]
    fn zeros_stay_zeros() {
        assert_eq!(round_f16(&[0.0, -0.0]).values().collect::<Vec<f32>>(), [0.0; 32]);
    }
}
