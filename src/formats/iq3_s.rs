//! IQ3_S: f16 d, 64 bytes that number entries of a grid of four weights, 8 bytes of the numbers' ninth bits, 32 bytes
//! of signs, eight 4-bit scales for 32 weights each. Weight = d · (1 + 2 · scale) · ± value.
//!
//! Values are odd numbers, 2c + 1, and so a weight is d · (1 + 2 · scale) · (2q - 15) for q = 8 + c, or 7 - c where it
//! is negative: an affine format of 4 bits.

use super::blocks::{blocks, half_at, sign_at};
use super::grids::{self, signed};
use super::{Format, Levels, Twin, f16_field, heads, parts, scales, signs, table};

pub(super) static FORMAT: Format = Format {
    id: 21,
    name: "IQ3_S",
    key: "iq3_s",
    file_types: &[(22, "IQ3_XS"), (26, "IQ3_S"), (27, "IQ3_M")],
    block_len: 256,
    block_bytes: 110,
    numbers: &[f16_field(0, 31.0 * 15.0)],
    sections: &[
        parts("", 8, 2),
        parts("HIGH_AT", 1, 66),
        signs("SIGNS_AT"),
        scales(256, 4, 106),
        heads(2, 0),
        table(&grids::IQ3_S),
    ],
    weights: "weights_iq3_s",
    repack: "repack_iq3_s",
    dequantize: |bytes, out| blocks(bytes, out, unpack),
    dot: None,
    dot_error: 6e-6,
    twin: Some(Twin {
        quant: |block, w| sign_at(&block[74..], w),
        levels: Levels::Grid(|block, i| {
            let entry = usize::from(block.low[i / 4]) | usize::from(block.high[0] >> (i / 4) & 1) << 8;
            signed(grids::IQ3_S.value(entry, i % 4), block.quants[i], 0)
        }),
        scales: |scales, heads, part| {
            let scale = half_at(heads, 0) * f32::from(1 + 2 * (scales[part / 2] >> (4 * (part % 2)) & 15));
            [scale, scale, 0.0, 0.0]
        },
    }),
};

fn unpack(block: &[u8; 110], weights: &mut [f32; 256]) {
    let d = half_at(block, 0);
    for (part, weights) in weights.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let scale = d * f32::from(1 + 2 * (block[106 + part / 2] >> (4 * (part % 2)) & 15));
        for (i, weight) in weights.iter_mut().enumerate() {
            let high = usize::from(block[66 + part] >> (i / 4) & 1) << 8;
            let entry = usize::from(block[2 + 8 * part + i / 4]) | high;
            let value = scale * grids::IQ3_S.value(entry, i % 4);
            *weight = signed(value, block[74 + 4 * part + i / 8], i % 8);
        }
    }
}
