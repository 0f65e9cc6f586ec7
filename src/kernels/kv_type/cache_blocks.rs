//! Rows of a cache in blocks of 32 values: Q8_0 and Q4_0 as files have them, each row of a head padded with zeros.

use crate::gguf::{GgmlType, dequantize, f16_from_f32};
use crate::kernels::kv_type::cache::HeadRows;

/// Values of a block.
const BLOCK: usize = 32;

/// A block of a cache, whatever the order of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundedBlock {
    /// Bits of an f16.
    pub scale: u16,
    /// Signed bytes of Q8_0, 0 to 15 of Q4_0.
    pub quants: [u8; BLOCK],
}

/// Rounds up to 32 values, with zeros behind them, as ggml's `quantize_row_q8_0_ref` and `quantize_row_q4_0_ref` do.
/// `ty` is one of the two.
pub fn round_block(ty: GgmlType, values: &[f32]) -> RoundedBlock {
    let mut x = [0.0; BLOCK];
    x[..values.len()].copy_from_slice(values);
    // The value farthest from 0: the first of them.
    let extreme = x.iter().fold(0f32, |found, &x| if x.abs() > found.abs() { x } else { found });
    let wide = ty == GgmlType::Q8_0;
    let scale = match extreme {
        0.0 => 0.0,
        _ if wide => extreme.abs() / 127.0,
        _ => extreme / -8.0,
    };
    let factor = if scale == 0.0 { 0.0 } else { 1.0 / scale };
    let quants = x.map(|x| match wide {
        true => (x * factor).round() as i8 as u8,
        false => ((x * factor + 8.5) as u8).min(15),
    });
    RoundedBlock { scale: f16_from_f32(scale), quants }
}

/// Rows in blocks of one type.
#[derive(Debug, Clone)]
pub(super) struct BlockRows {
    ty: GgmlType,
    pub bytes: Vec<u8>,
}

impl BlockRows {
    pub fn new(ty: GgmlType) -> Self {
        Self { ty, bytes: Vec::new() }
    }

    pub fn row_bytes(&self, head_dim: usize) -> usize {
        head_dim.div_ceil(BLOCK) * self.ty.block_bytes()
    }

    /// The bytes of one row.
    pub fn round(&self, row: &[f32]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.row_bytes(row.len()));
        for values in row.chunks(BLOCK) {
            let RoundedBlock { scale, quants } = round_block(self.ty, values);
            bytes.extend(scale.to_le_bytes());
            match self.ty {
                GgmlType::Q8_0 => bytes.extend(quants),
                _ => bytes.extend((0..BLOCK / 2).map(|i| quants[i] | quants[i + BLOCK / 2] << 4)),
            }
        }
        bytes
    }
}

impl HeadRows for BlockRows {
    fn rows(&self, head_dim: usize) -> usize {
        self.bytes.len() / self.row_bytes(head_dim)
    }

    fn read(&self, row: usize, out: &mut [f32]) {
        let stored = &self.bytes[row * self.row_bytes(out.len())..];
        let mut values = [0.0; BLOCK];
        for (out, block) in out.chunks_mut(BLOCK).zip(stored.chunks_exact(self.ty.block_bytes())) {
            // Cannot fail: it is one whole block.
            let _ = dequantize(self.ty, block, &mut values);
            out.copy_from_slice(&values[..out.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BlockRows, RoundedBlock, round_block};
    use crate::gguf::GgmlType;
    use crate::kernels::kv_type::cache::HeadRows;

    #[test]
    fn blocks_are_those_of_ggml() {
        let RoundedBlock { scale, quants } = round_block(GgmlType::Q8_0, &[127.0, -2.5, 2.5, 0.49, -127.0]);
        assert_eq!((scale, &quants[..6]), (0x3c00, &[127, 253, 3, 0, 129, 0][..]));
        // The first of the farthest, -4, becomes 0; 4 would be 16.
        let RoundedBlock { scale, quants } = round_block(GgmlType::Q4_0, &[1.0, -4.0, 4.0, 0.3]);
        assert_eq!((scale, &quants[..5]), (0x3800, &[10, 0, 15, 9, 8][..]));
        assert_eq!(round_block(GgmlType::Q4_0, &[0.0]), RoundedBlock { scale: 0, quants: [8; 32] });
    }

    #[test]
    fn rows_come_back_within_half_a_step() {
        let row: Vec<f32> = (0..40).map(|i| (i * 7 % 19) as f32 - 9.0).collect();
        for (ty, steps, bytes) in [(GgmlType::Q8_0, 127.0, 68), (GgmlType::Q4_0, 8.0, 36)] {
            let mut rows = BlockRows::new(ty);
            rows.bytes = [rows.round(&row), rows.round(&row)].concat();
            assert_eq!((rows.bytes.len(), rows.rows(40)), (2 * bytes, 2));
            let mut found = [0.0; 40];
            rows.read(1, &mut found);
            let worst = row.iter().zip(found).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max);
            // 9 beside -9 loses a whole step of Q4_0.
            assert!(worst <= 9.0 / steps * 1.01, "{ty:?}: {worst}");
        }
    }
}
