//! Q2_0: f16 d, 16 bytes of 2-bit q, the first weight in the lowest bits; weight = d · (q − 1), so −d, 0, d or 2d.

use super::blocks::{blocks, centred, half_at};
use super::{Format, Levels, Twin, f16_field, quants, scales};

pub(super) static FORMAT: Format = Format {
    id: 42,
    name: "Q2_0",
    key: "q2_0",
    file_types: &[(41, "Q2_0")],
    block_len: 64,
    block_bytes: 18,
    numbers: &[f16_field(0, 2.0)],
    sections: &[quants(8), scales(64, 2, 0)],
    weights: "weights_q2_0",
    repack: "repack_q2_0",
    dequantize: |bytes, out| blocks(bytes, out, unpack),
    dot: None,
    dot_error: 6e-6,
    twin: Some(Twin {
        quant: pair,
        levels: Levels::Codebook(&[-1, 0, 1, 2]),
        scales: |scales, _, _| centred(half_at(scales, 0), 0.0),
    }),
};

fn unpack(block: &[u8; 18], weights: &mut [f32; 64]) {
    let d = half_at(block, 0);
    for (w, weight) in weights.iter_mut().enumerate() {
        *weight = d * (f32::from(pair(block, w)) - 1.0);
    }
}

/// Quant `w` of 64.
fn pair(block: &[u8], w: usize) -> u8 {
    block[2 + w / 4] >> (w % 4 * 2) & 3
}
