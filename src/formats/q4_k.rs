//! Q4_K: f16 d, f16 dmin, 12 bytes of eight 6-bit scales and minima, 128 bytes of nibbles.
//! Groups of 32: weight = (d · scale) · q − dmin · min.
//!
//! Each 32 bytes of nibbles serve two groups: the low nibbles the first, the high ones the second.

use super::blocks::{blocks, half_at, scale_and_min, shared_nibble, six_bit_scales};
use super::integers::{Block, Scaled, bytes_at, dot_by_32};
use super::{Format, Levels, Twin, f16_field, quants, scales};
use crate::simd::Bytes;

pub(super) static FORMAT: Format = Format {
    id: 12,
    name: "Q4_K",
    key: "q4_k",
    file_types: &[(14, "Q4_K_S"), (15, "Q4_K_M")],
    block_len: 256,
    block_bytes: 144,
    numbers: &[f16_field(0, 63.0 * 15.0), f16_field(2, 63.0)],
    // The file keeps scale, minimum and the twelve bytes of 6-bit pairs together in 16 bytes, and so do we.
    sections: &[quants(16), scales(256, 16, 0)],
    weights: "weights_q4_k",
    repack: "repack_q4_k",
    dequantize: |bytes, out| blocks(bytes, out, unpack),
    dot: Some(dot),
    dot_error: 6e-6,
    twin: Some(Twin {
        quant: |block, w| shared_nibble(&block[16..], w),
        levels: Levels::Unsigned,
        scales: |scales, _, part| six_bit_scales(scales, part),
    }),
};

fn unpack(block: &[u8; 144], weights: &mut [f32; 256]) {
    let (d, dmin) = (half_at(block, 0), half_at(block, 2));
    for (group, weights) in weights.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let (scale, min) = scale_and_min(&block[4..16], group);
        let (dl, ml) = (d * f32::from(scale), dmin * f32::from(min));
        let shift = group % 2 * 4;
        for (weight, q) in weights.iter_mut().zip(&block[16 + group / 2 * 32..]) {
            *weight = dl * f32::from(q >> shift & 15) - ml;
        }
    }
}

fn dot(bytes: &[u8], x: &[Block]) -> f32 {
    dot_by_32::<144, 8>(bytes, x, |block, group| {
        let shift = group as u32 % 2 * 4;
        let quants = [0, 16].map(|side| Bytes::new(bytes_at(block, 16 + group / 2 * 32 + side)).field(shift, 15));
        let (scale, min) = scale_and_min(&block[4..16], group);
        Scaled { quants, scale: half_at(block, 0) * f32::from(scale), minimum: half_at(block, 2) * f32::from(min) }
    })
}
