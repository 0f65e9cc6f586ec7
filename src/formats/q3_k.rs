//! Q3_K: 32 bytes of third bits, 64 bytes of 2-bit q, 12 bytes of sixteen 6-bit scales, f16 d.
//! Groups of 16: weight = d · (scale − 32) · (q − 4), where the third bit set means q + 4.
//!
//! The third bit of weight i is bit i / 32 of byte i mod 32.

use super::blocks::{half_at, pairs_of_group, shared_bit, shared_pair};
use super::integers::{By16, Scaled, bytes_at, dot_by_16, weights_by_16};
use super::{Format, Levels, Twin, f16_field, heads, high, quants, scales};
use crate::simd::Bytes;

pub(super) static FORMAT: Format = Format {
    id: 11,
    name: "Q3_K",
    key: "q3_k",
    file_types: &[(11, "Q3_K_S"), (12, "Q3_K_M"), (13, "Q3_K_L")],
    block_len: 256,
    block_bytes: 110,
    numbers: &[f16_field(108, 32.0 * 4.0)],
    sections: &[quants(8), high(4, 2), scales(256, 12, 96), heads(2, 108)],
    weights: "weights_q3_k",
    repack: "repack_q3_k",
    dequantize: weights_by_16::<110, Parts>,
    dot: Some(dot_by_16::<110, Parts>),
    dot_error: 6e-6,
    twin: Some(Twin {
        quant: |block, w| shared_pair(&block[32..], w) | shared_bit(block, w) << 2,
        levels: Levels::Unsigned,
        scales: part_scales,
    }),
};

struct Parts;

impl By16<110> for Parts {
    #[inline(always)]
    fn part(block: &[u8; 110], group: usize) -> Scaled<Bytes> {
        let (start, shift) = pairs_of_group(group);
        let low = Bytes::new(bytes_at(block, 32 + start)).field(shift as u32, 3);
        let high = Bytes::new(bytes_at(block, group % 2 * 16)).field(group as u32 / 2, 1);
        let scale = half_at(block, 108) * (f32::from(six_bit_scale(&block[96..108], group)) - 32.0);
        Scaled { quants: low.with_high(high, 2), scale, zero: 4.0, minimum: 0.0 }
    }
}

/// Scale `group` of 16: its low four bits are a nibble of the first 8 bytes, its high two bits a quarter of the last 4.
fn six_bit_scale(scales: &[u8], group: usize) -> u8 {
    let low = scales[group % 8] >> (group / 8 * 4) & 15;
    let high = scales[8 + group % 4] >> (group / 4 * 2) & 3;
    low | high << 4
}

fn part_scales(scales: &[u8], heads: &[u8], part: usize) -> [f32; 4] {
    let pair = [0, 1].map(|i| (f32::from(six_bit_scale(scales, 2 * part + i)) - 32.0) * half_at(heads, 0));
    [pair[0], pair[1], 4.0 * pair[0], 4.0 * pair[1]]
}
