//! Q4_1: f16 d, f16 m, 16 bytes of nibbles; weight = d · q + m.

use super::blocks::{half_at, nibble, scale_and_offset};
use super::integers::{By32, Scaled, dot_by_32, nibbles_at, weights_by_32};
use super::{Format, Levels, Twin, f16_field, quants, scales};
use crate::simd::Bytes;

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
    dequantize: weights_by_32::<20, 1, Parts>,
    dot: Some(dot_by_32::<20, 1, Parts>),
    dot_error: 6e-6,
    twin: Some(Twin {
        quant: |block, i| nibble(&block[4..], i),
        levels: Levels::Unsigned,
        scales: |scales, _, _| scale_and_offset(scales),
    }),
};

struct Parts;

impl By32<20, 1> for Parts {
    #[inline(always)]
    fn part(block: &[u8; 20], _: usize) -> Scaled<[Bytes; 2]> {
        let (scale, minimum) = (half_at(block, 0), -half_at(block, 2));
        Scaled { quants: nibbles_at(block, 4), zero: 0.0, scale, minimum }
    }
}
