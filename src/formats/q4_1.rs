//! Q4_1: f16 d, f16 m, 16 bytes of nibbles; weight = d · q + m.

use super::blocks::{blocks, half_at, nibble, nibbles, scale_and_offset};
use super::integers::{Block, Scaled, dot_by_32, nibbles_at};
use super::{Format, Levels, Twin, f16_field, quants, scales};

pub(super) static FORMAT: Format = Format {
    id: 3,
    name: "Q4_1",
    key: "q4_1",
    file_types: &[(3, "Q4_1")],
    block_len: 32,
    block_bytes: 20,
    numbers: &[f16_field(0, 15.0), f16_field(2, 1.0)],
    sections: &[quants(16), scales(32, 4, 0)],
    weights: "weights_q4_1",
    repack: "repack_q4_1",
    dequantize: |bytes, out| blocks(bytes, out, unpack),
    dot: Some(dot),
    dot_error: 6e-6,
    twin: Some(Twin {
        quant: |block, i| nibble(&block[4..], i),
        levels: Levels::Unsigned,
        scales: |scales, _, _| scale_and_offset(scales),
    }),
};

fn unpack(block: &[u8; 20], weights: &mut [f32; 32]) {
    let (d, m) = (half_at(block, 0), half_at(block, 2));
    nibbles(&block[4..], weights, |_, q| d * f32::from(q) + m);
}

fn dot(bytes: &[u8], x: &[Block]) -> f32 {
    dot_by_32::<20, 1>(bytes, x, |block, _| {
        let (scale, minimum) = (half_at(block, 0), -half_at(block, 2));
        Scaled { quants: nibbles_at(block, 4), scale, minimum }
    })
}
