//! Activations in f16 with a scale for each block of 32.

use crate::kernels::mat_mul_subgroup_matrix::reference::HalfRow;

/// Rounds a row of finite numbers in blocks of 32, the last of which zeros fill, to the nearest halves of at most 4 in
/// magnitude.
pub fn round_f16_blocks(row: &[f32]) -> Vec<HalfRow> {
    row.chunks(32).map(block).collect()
}

fn block(x: &[f32]) -> HalfRow {
    let largest = x.iter().fold(0f32, |max, x| max.max(x.abs()));
    let exponent = (largest.to_bits() >> 23).max(2) - 1;
    let scale = f32::from_bits(exponent << 23);
    HalfRow::new(x, scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gguf::f16_to_f32;

    #[test]
    fn blocks_of_any_size_keep_eleven_bits_below_4() {
        for size in [1e-30f32, 1e-6, 1.0, 1e4, 3e38] {
            let x: Vec<f32> = (1..=32).map(|i| size * (i as f32 / 32.0).powi(2) * (-1f32).powi(i)).collect();
            let [block] = &round_f16_blocks(&x)[..] else { panic!("one block") };
            for (value, x) in block.values().zip(&x) {
                assert!((value - x).abs() <= x.abs() / 2048.0, "{x} became {value}");
            }
            let largest = block.halves.iter().map(|&half| f16_to_f32(half).abs()).fold(0.0, f32::max);
            assert!((2.0..=4.0).contains(&largest), "{size}: {largest}");
        }
    }

    #[test]
    fn zeros_stay_zeros() {
        assert!(round_f16_blocks(&[0.0; 32])[0].values().all(|value| value == 0.0));
    }
}
