//! Q6_K: 128 bytes of low nibbles, 64 bytes of high bit pairs, 16 signed bytes of scales, f16 d.
//! Groups of 16: weight = (d · scale) · (q − 32).
//!
//! 64 low bytes and 32 high bytes serve 128 weights, four runs of 32: the low nibbles of the first 32 low bytes, of the
//! second 32, then the high nibbles likewise; run r has its high bits at bit 2r.

use super::blocks::{half_at, shared_pair};
use super::integers::{By16, Scaled, bytes_at, dot_by_16, weights_by_16};
use super::{Format, Levels, Twin, f16_field, heads, high, quants, scales};
use crate::simd::Bytes;

pub(super) static FORMAT: Format = Format {
    id: 14,
    name: "Q6_K",
    key: "q6_k",
    file_types: &[(18, "Q6_K")],
    block_len: 256,
    block_bytes: 210,
    numbers: &[f16_field(208, 128.0 * 32.0)],
    sections: &[quants(16), high(8, 4), scales(256, 16, 192), heads(2, 208)],
    weights: "weights_q6_k",
    repack: "repack_q6_k",
    dequantize: weights_by_16::<210, Parts>,
    dot: Some(dot_by_16::<210, Parts>),
    dot_error: 8e-6,
    twin: Some(Twin { quant, levels: Levels::Unsigned, scales: part_scales }),
};

struct Parts;

impl By16<210> for Parts {
    #[inline(always)]
    fn part(block: &[u8; 210], group: usize) -> Scaled<Bytes> {
        let (half, run, side) = (group / 8, group / 2 % 4, group % 2);
        let low = Bytes::new(bytes_at(block, half * 64 + run % 2 * 32 + side * 16)).field(run as u32 / 2 * 4, 15);
        let high = Bytes::new(bytes_at(block, 128 + half * 32 + side * 16)).field(run as u32 * 2, 3);
        let scale = half_at(block, 208) * f32::from(block[192 + group].cast_signed());
        Scaled { quants: low.with_high(high, 4), scale, zero: 32.0, minimum: 0.0 }
    }
}

fn quant(block: &[u8], w: usize) -> u8 {
    let low = block[w / 128 * 64 + w % 64] >> (w % 128 / 64 * 4) & 15;
    low | shared_pair(&block[128..], w) << 4
}

fn part_scales(scales: &[u8], heads: &[u8], part: usize) -> [f32; 4] {
    let pair = [0, 1].map(|i| f32::from(scales[2 * part + i].cast_signed()) * half_at(heads, 0));
    [pair[0], pair[1], 32.0 * pair[0], 32.0 * pair[1]]
}
