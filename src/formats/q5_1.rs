//! Q5_1: f16 d, f16 m, u32 of fifth bits, 16 bytes of nibbles; weight = d · q + m.

use super::blocks::{blocks, fifth_bit, fifth_bits, half_at, nibble, nibbles, scale_and_offset};
use super::{Format, Levels, Twin, f16_field, high, quants, scales};

pub(super) static FORMAT: Format = Format {
    id: 7,
    name: "Q5_1",
    key: "q5_1",
    file_types: &[(9, "Q5_1")],
    block_len: 32,
    block_bytes: 24,
    numbers: &[f16_field(0, 31.0), f16_field(2, 1.0)],
    sections: &[quants(16), high(4, 4), scales(32, 4, 0)],
    weights: "weights_q5_1",
    repack: "repack_q5_1",
    dequantize: |bytes, out| blocks(bytes, out, unpack),
    dot: None,
    dot_error: 8e-6,
    twin: Some(Twin {
        quant: |block, i| nibble(&block[8..], i) | fifth_bit(&block[4..], i),
        levels: Levels::Unsigned,
        scales: |scales, _, _| scale_and_offset(scales),
    }),
};

fn unpack(block: &[u8; 24], weights: &mut [f32; 32]) {
    let (d, m) = (half_at(block, 0), half_at(block, 2));
    let fifth = fifth_bits(block, 4);
    nibbles(&block[8..], weights, |i, q| d * f32::from(q | fifth(i)) + m);
}
