//! Q5_K: f16 d, f16 dmin, 12 bytes of scales and minima, 32 bytes of fifth bits, 128 bytes of nibbles; the rest as in
//! Q4_K.
//!
//! The fifth bit of weight i of group g is bit g of byte i.

use super::blocks::{blocks, half_at, scale_and_min, shared_bit, shared_nibble, six_bit_scales};
use super::integers::{Block, Scaled, bytes_at, dot_by_32};
use super::{Format, Levels, Twin, f16_field, high, quants, scales};
use crate::simd::Bytes;

pub(super) static FORMAT: Format = Format {
    id: 13,
    name: "Q5_K",
    key: "q5_k",
    file_types: &[(16, "Q5_K_S"), (17, "Q5_K_M")],
    block_len: 256,
    block_bytes: 176,
    numbers: &[f16_field(0, 63.0 * 31.0), f16_field(2, 63.0)],
    sections: &[quants(16), high(4, 4), scales(256, 16, 0)],
    weights: "weights_q5_k",
    repack: "repack_q5_k",
    dequantize: |bytes, out| blocks(bytes, out, unpack),
    dot: Some(dot),
    dot_error: 8e-6,
    twin: Some(Twin {
        quant: |block, w| shared_nibble(&block[48..], w) | shared_bit(&block[16..], w) << 4,
        levels: Levels::Unsigned,
        scales: |scales, _, part| six_bit_scales(scales, part),
    }),
};

fn unpack(block: &[u8; 176], weights: &mut [f32; 256]) {
    let (d, dmin) = (half_at(block, 0), half_at(block, 2));
    for (group, weights) in weights.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let (scale, min) = scale_and_min(&block[4..16], group);
        let (dl, ml) = (d * f32::from(scale), dmin * f32::from(min));
        let shift = group % 2 * 4;
        let low = &block[48 + group / 2 * 32..];
        for (weight, (low, high)) in weights.iter_mut().zip(low.iter().zip(&block[16..48])) {
            let q = low >> shift & 15 | (high >> group & 1) << 4;
            *weight = dl * f32::from(q) - ml;
        }
    }
}

fn dot(bytes: &[u8], x: &[Block]) -> f32 {
    dot_by_32::<176, 8>(bytes, x, |block, group| {
        let shift = group as u32 % 2 * 4;
        let quants = [0, 16].map(|side| {
            let low = Bytes::new(bytes_at(block, 48 + group / 2 * 32 + side)).field(shift, 15);
            low.with_high(Bytes::new(bytes_at(block, 16 + side)).field(group as u32, 1), 4)
        });
        let (scale, min) = scale_and_min(&block[4..16], group);
        Scaled { quants, scale: half_at(block, 0) * f32::from(scale), minimum: half_at(block, 2) * f32::from(min) }
    })
}
