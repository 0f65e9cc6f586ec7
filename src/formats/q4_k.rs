//! Q4_K: f16 d, f16 dmin, 12 bytes of eight 6-bit scales and minima, 128 bytes of nibbles.
//! Groups of 32: weight = (d · scale) · q − dmin · min.
//!
//! Each 32 bytes of nibbles serve two groups: the low nibbles the first, the high ones the second.

use super::blocks::{half_at, scale_and_min, shared_nibble, six_bit_scales};
use super::integers::{By32, Scaled, bytes_at, dot_by_32, weights_by_32};
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
    dequantize: weights_by_32::<144, 8, Parts>,
    dot: Some(dot_by_32::<144, 8, Parts>),
    dot_error: 6e-6,
    twin: Some(Twin {
        quant: |block, w| shared_nibble(&block[16..], w),
        levels: Levels::Unsigned,
        scales: |scales, _, part| six_bit_scales(scales, part),
    }),
};

struct Parts;

impl By32<144, 8> for Parts {
    #[inline(always)]
    fn part(block: &[u8; 144], group: usize) -> Scaled<[Bytes; 2]> {
        let shift = group as u32 % 2 * 4;
        let quants = [0, 16].map(|side| Bytes::new(bytes_at(block, 16 + group / 2 * 32 + side)).field(shift, 15));
        let (scale, min) = scale_and_min(&block[4..16], group);
        Scaled {
            quants,
            zero: 0.0,
            scale: half_at(block, 0) * f32::from(scale),
            minimum: half_at(block, 2) * f32::from(min),
        }
    }
}
