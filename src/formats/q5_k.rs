//! Q5_K: f16 d, f16 dmin, 12 bytes of scales and minima, 32 bytes of fifth bits, 128 bytes of nibbles; the rest as in
//! Q4_K.
//!
//! The fifth bit of weight i of group g is bit g of byte i.

use super::blocks::{half_at, scale_and_min, shared_bit, shared_nibble, six_bit_scales};
use super::integers::{By32, Scaled, bytes_at, dot_by_32, weights_by_32};
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
    dequantize: weights_by_32::<176, 8, Parts>,
    dot: Some(dot_by_32::<176, 8, Parts>),
    dot_error: 8e-6,
    twin: Some(Twin {
        quant: |block, w| shared_nibble(&block[48..], w) | shared_bit(&block[16..], w) << 4,
        levels: Levels::Unsigned,
        scales: |scales, _, part| six_bit_scales(scales, part),
    }),
};

struct Parts;

impl By32<176, 8> for Parts {
    #[inline(always)]
    fn part(block: &[u8; 176], group: usize) -> Scaled<[Bytes; 2]> {
        let shift = group as u32 % 2 * 4;
        let quants = [0, 16].map(|side| {
            let low = Bytes::new(bytes_at(block, 48 + group / 2 * 32 + side)).field(shift, 15);
            low.with_high(Bytes::new(bytes_at(block, 16 + side)).field(group as u32, 1), 4)
        });
        let (scale, min) = scale_and_min(&block[4..16], group);
        Scaled {
            quants,
            zero: 0.0,
            scale: half_at(block, 0) * f32::from(scale),
            minimum: half_at(block, 2) * f32::from(min),
        }
    }
}
