//! Q2_K: 16 bytes of group scales and minima (4 bits each), 64 bytes of 2-bit q, f16 d, f16 dmin.
//! Groups of 16: weight = (d · scale) · q − dmin · min.
//!
//! Each 32 bytes of q serve 128 weights: bits 0–1 the first 32 of them, bits 2–3 the next, and so on.

use super::blocks::{half_at, pairs_of_group, shared_pair};
use super::integers::{By16, Scaled, bytes_at, dot_by_16, weights_by_16};
use super::{Format, Levels, Twin, f16_field, heads, quants, scales};
use crate::simd::Bytes;

pub(super) static FORMAT: Format = Format {
    id: 10,
    name: "Q2_K",
    key: "q2_k",
    file_types: &[(10, "Q2_K"), (21, "Q2_K_S")],
    block_len: 256,
    block_bytes: 84,
    numbers: &[f16_field(80, 15.0 * 3.0), f16_field(82, 15.0)],
    sections: &[quants(8), scales(256, 16, 0), heads(4, 80)],
    weights: "weights_q2_k",
    repack: "repack_q2_k",
    dequantize: weights_by_16::<84, Parts>,
    dot: Some(dot_by_16::<84, Parts>),
    dot_error: 6e-6,
    twin: Some(Twin { quant: |block, w| shared_pair(&block[16..], w), levels: Levels::Unsigned, scales: part_scales }),
};

struct Parts;

impl By16<84> for Parts {
    #[inline(always)]
    fn part(block: &[u8; 84], group: usize) -> Scaled<Bytes> {
        let (start, shift) = pairs_of_group(group);
        let quants = Bytes::new(bytes_at(block, 16 + start)).field(shift as u32, 3);
        let [scale, min] = [block[group] & 15, block[group] >> 4].map(f32::from);
        Scaled { quants, zero: 0.0, scale: half_at(block, 80) * scale, minimum: half_at(block, 82) * min }
    }
}

fn part_scales(scales: &[u8], heads: &[u8], part: usize) -> [f32; 4] {
    let (d, dmin) = (half_at(heads, 0), half_at(heads, 2));
    let [first, second] = [scales[2 * part], scales[2 * part + 1]];
    let scale = |byte: u8| f32::from(byte & 15) * d;
    let min = |byte: u8| f32::from(byte >> 4) * dmin;
    [scale(first), scale(second), min(first), min(second)]
}
