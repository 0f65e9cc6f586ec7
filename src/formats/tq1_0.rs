//! TQ1_0: 48 bytes of five base-3 digits each, 4 bytes of four, f16 d; weight = d · (digit − 1).
//!
//! A byte is a fraction of 256, its first digit after the point the first weight's: digit n of byte b is
//! ⌊3 · (3ⁿ · b mod 256) / 256⌋. Digit n of byte m of the first 32 belongs to weight 32n + m, of the next 16 to weight
//! 160 + 16n + m, of the last 4 to weight 240 + 4n + m.
//!
//! Packed, a digit takes two bits, as in TQ2_0: 2.06 bits for a weight instead of 1.69. Division by powers of 3 in
//! every product would cost more than reading them.

use super::blocks::{blocks, centred, half_at};
use super::{Format, Levels, Twin, f16_field, heads, quants};

pub(super) static FORMAT: Format = Format {
    id: 34,
    name: "TQ1_0",
    key: "tq1_0",
    file_types: &[(36, "TQ1_0")],
    block_len: 256,
    block_bytes: 54,
    numbers: &[f16_field(52, 1.0)],
    sections: &[quants(8), heads(2, 52)],
    weights: "weights_tq2_0",
    repack: "repack_tq1_0",
    dequantize: |bytes, out| blocks(bytes, out, unpack),
    dot: None,
    dot_error: 6e-6,
    twin: Some(Twin { quant: digit, levels: Levels::Unsigned, scales: |_, heads, _| centred(half_at(heads, 0), 1.0) }),
};

fn unpack(block: &[u8; 54], weights: &mut [f32; 256]) {
    let d = half_at(block, 52);
    for (w, weight) in weights.iter_mut().enumerate() {
        *weight = d * (f32::from(digit(block, w)) - 1.0);
    }
}

/// The digit of weight `w` of 256.
fn digit(block: &[u8], w: usize) -> u8 {
    let (byte, n) = match w {
        0..160 => (w % 32, w / 32),
        160..240 => (32 + w % 16, (w - 160) / 16),
        _ => (48 + w % 4, (w - 240) / 4),
    };
    let fraction = block[byte].wrapping_mul([1, 3, 9, 27, 81][n]);
    ((u16::from(fraction) * 3) >> 8) as u8
}
