//! Q4_0: f16 d, 16 bytes of nibbles; weight = d · (q − 8).

use super::blocks::{centred, half_at, nibble};
use super::integers::{By32, Scaled, dot_by_32, nibbles_at, weights_by_32};
use super::{Format, Levels, Twin, f16_field, quants, scales};
use crate::simd::Bytes;

pub(super) static FORMAT: Format = Format {
    id: 2,
    name: "Q4_0",
    key: "q4_0",
    file_types: &[(2, "Q4_0")],
    block_len: 32,
    block_bytes: 18,
    numbers: &[f16_field(0, 8.0)],
    sections: &[quants(16), scales(32, 2, 0)],
    weights: "weights_q4_0",
    repack: "repack_q4_0",
    dequantize: weights_by_32::<18, 1, Parts>,
    dot: Some(dot_by_32::<18, 1, Parts>),
    dot_error: 6e-6,
    twin: Some(Twin {
        quant: |block, i| nibble(&block[2..], i),
        levels: Levels::Unsigned,
        scales: |scales, _, _| centred(half_at(scales, 0), 8.0),
    }),
};

struct Parts;

impl By32<18, 1> for Parts {
    #[inline(always)]
    fn part(block: &[u8; 18], _: usize) -> Scaled<[Bytes; 2]> {
        let scale = half_at(block, 0);
        Scaled { quants: nibbles_at(block, 2), zero: 8.0, scale, minimum: 0.0 }
    }
}
