//! The K formats: super-blocks of 256 weights, whose groups of 16 or 32 have small integer scales under one or two f16.

use super::dequantize::scale;

/// 16 bytes of group scales and minima (4 bits each), 64 bytes of 2-bit q, f16 d, f16 dmin.
/// Groups of 16: (d · scale) · q − dmin · min.
///
/// Each 32 bytes of q serve 128 weights: bits 0–1 the first 32 of them, bits 2–3 the next, and so on.
pub(super) fn q2_k(block: &[u8; 84], weights: &mut [f32; 256]) {
    let (d, dmin) = (scale(block, 80), scale(block, 82));
    for (group, weights) in weights.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let scales = block[group];
        let (dl, ml) = (d * f32::from(scales & 15), dmin * f32::from(scales >> 4));
        let (start, shift) = two_bits_at(group);
        for (weight, q) in weights.iter_mut().zip(&block[16 + start..]) {
            *weight = dl * f32::from(q >> shift & 3) - ml;
        }
    }
}

/// 32 bytes of third bits, 64 bytes of 2-bit q, 12 bytes of sixteen 6-bit scales, f16 d.
/// Groups of 16: d · (scale − 32) · (q − 4), where the third bit set means q + 4.
///
/// The third bit of weight i is bit i / 32 of byte i mod 32.
pub(super) fn q3_k(block: &[u8; 110], weights: &mut [f32; 256]) {
    let d = scale(block, 108);
    for (group, weights) in weights.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let dl = d * (f32::from(q3_k_scale(&block[96..108], group)) - 32.0);
        let (start, shift) = two_bits_at(group);
        let high = &block[group % 2 * 16..];
        for (weight, (low, high)) in weights.iter_mut().zip(block[32 + start..].iter().zip(high)) {
            let q = low >> shift & 3 | (high >> (group / 2) & 1) << 2;
            *weight = dl * (f32::from(q) - 4.0);
        }
    }
}

/// Scale `group` of 16: its low four bits are a nibble of the first 8 bytes, its high two bits a quarter of the last 4.
fn q3_k_scale(scales: &[u8], group: usize) -> u8 {
    let low = scales[group % 8] >> (group / 8 * 4) & 15;
    let high = scales[8 + group % 4] >> (group / 4 * 2) & 3;
    low | high << 4
}

/// The first byte and the shift of the 2-bit numbers of a group of 16.
fn two_bits_at(group: usize) -> (usize, usize) {
    let (half, quarter, side) = (group / 8, group / 2 % 4, group % 2);
    (half * 32 + side * 16, quarter * 2)
}

/// f16 d, f16 dmin, 12 bytes of eight 6-bit scales and minima, 128 bytes of nibbles.
/// Groups of 32: (d · scale) · q − dmin · min.
///
/// Each 32 bytes of nibbles serve two groups: the low nibbles the first, the high ones the second.
pub(super) fn q4_k(block: &[u8; 144], weights: &mut [f32; 256]) {
    let (d, dmin) = (scale(block, 0), scale(block, 2));
    for (group, weights) in weights.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let (scale, min) = scale_and_min(&block[4..16], group);
        let (dl, ml) = (d * f32::from(scale), dmin * f32::from(min));
        let shift = group % 2 * 4;
        for (weight, q) in weights.iter_mut().zip(&block[16 + group / 2 * 32..]) {
            *weight = dl * f32::from(q >> shift & 15) - ml;
        }
    }
}

/// f16 d, f16 dmin, 12 bytes of scales and minima, 32 bytes of fifth bits, 128 bytes of nibbles; the rest as in Q4_K.
///
/// The fifth bit of weight i of group g is bit g of byte i.
pub(super) fn q5_k(block: &[u8; 176], weights: &mut [f32; 256]) {
    let (d, dmin) = (scale(block, 0), scale(block, 2));
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

/// Scale and minimum of group 0 to 7. Groups 0–3: the low six bits of bytes g and g + 4. Groups 4–7: low four bits in a
/// nibble of byte g + 4, high two bits at the top of bytes g − 4 and g.
fn scale_and_min(packed: &[u8], group: usize) -> (u8, u8) {
    if group < 4 {
        return (packed[group] & 63, packed[group + 4] & 63);
    }
    let low = packed[group + 4];
    (low & 15 | packed[group - 4] >> 6 << 4, low >> 4 | packed[group] >> 6 << 4)
}

/// 128 bytes of low nibbles, 64 bytes of high bit pairs, 16 signed bytes of scales, f16 d.
/// Groups of 16: (d · scale) · (q − 32).
///
/// 64 low bytes and 32 high bytes serve 128 weights, four runs of 32: the low nibbles of the first 32 low bytes, of the
/// second 32, then the high nibbles likewise; run r has its high bits at bit 2r.
pub(super) fn q6_k(block: &[u8; 210], weights: &mut [f32; 256]) {
    let d = scale(block, 208);
    for (group, weights) in weights.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let (half, run, side) = (group / 8, group / 2 % 4, group % 2);
        let dl = d * f32::from(block[192 + group] as i8);
        let low = &block[half * 64 + run % 2 * 32 + side * 16..];
        let high = &block[128 + half * 32 + side * 16..];
        for (weight, (low, high)) in weights.iter_mut().zip(low.iter().zip(high)) {
            let q = low >> (run / 2 * 4) & 15 | (high >> (run * 2) & 3) << 4;
            *weight = dl * (f32::from(q) - 32.0);
        }
    }
}
