//! Helpers of the format files: bytes of blocks in order, and bit layouts that several formats share.

/// Applies `unpack` to every block of `B` bytes and `W` weights.
pub(super) fn blocks<const B: usize, const W: usize>(
    bytes: &[u8],
    out: &mut [f32],
    unpack: impl Fn(&[u8; B], &mut [f32; W]),
) {
    for (block, weights) in bytes.as_chunks().0.iter().zip(out.as_chunks_mut().0) {
        unpack(block, weights);
    }
}

/// The f16 at byte `at` of a block.
#[inline(always)]
pub(super) fn half_at(block: &[u8], at: usize) -> f32 {
    half(u16::from_le_bytes([block[at], block[at + 1]]))
}

/// An f16 by its bits: without the branches of the general way, since every block has one.
#[inline(always)]
fn half(bits: u16) -> f32 {
    /// The difference between the exponents of f32 and f16, as a factor.
    const MORE: f32 = f32::from_bits((127 + 112) << 23);
    let size = u32::from(bits & 0x7fff) << 13;
    let infinite = bits & 0x7c00 == 0x7c00;
    let value = if infinite { f32::from_bits(size | 0x7f80_0000) } else { f32::from_bits(size) * MORE };
    f32::from_bits(value.to_bits() | u32::from(bits & 0x8000) << 16)
}

/// The u32 at byte `at` of a block.
pub(super) fn word_at(block: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
}

// In formats of 4 and 5 bits with blocks of 32, byte i holds the low bits of weight i (low nibble) and of weight i + 16
// (high nibble); the fifth bit of weight i is bit i of a little-endian u32.

/// Gives `weight` the low four bits of each of 32 weights.
pub(super) fn nibbles(packed: &[u8], weights: &mut [f32; 32], weight: impl Fn(usize, u8) -> f32) {
    for (i, &byte) in packed.iter().enumerate() {
        weights[i] = weight(i, byte & 15);
        weights[i + 16] = weight(i + 16, byte >> 4);
    }
}

/// Bit i of the u32 at byte `at` as the fifth bit of weight i.
pub(super) fn fifth_bits(block: &[u8], at: usize) -> impl Fn(usize) -> u8 {
    let bits = word_at(block, at);
    move |i| ((bits >> i & 1) as u8) << 4
}

/// The nibble of weight `i` of 32.
pub(super) fn nibble(packed: &[u8], i: usize) -> u8 {
    packed[i % 16] >> (4 * (i / 16)) & 15
}

/// The fifth bit of weight `i` of 32, in its place.
pub(super) fn fifth_bit(bits: &[u8], i: usize) -> u8 {
    (bits[i / 8] >> (i % 8) & 1) << 4
}

// The K formats keep the bits of weight l of several blocks of 32 in one byte l, each block's at a shift of its own.

/// The bit pair of weight `w` of 256, where 32 bytes hold 128 weights, 32 at each shift.
pub(super) fn shared_pair(bytes: &[u8], w: usize) -> u8 {
    bytes[w / 128 * 32 + w % 32] >> (w % 128 / 32 * 2) & 3
}

/// The bit of weight `w` of 256, where byte l holds bit s of weight l of block s.
pub(super) fn shared_bit(bytes: &[u8], w: usize) -> u8 {
    bytes[w % 32] >> (w / 32) & 1
}

/// The nibble of weight `w` of 256 in Q4_K and Q5_K, where 32 bytes hold two blocks, the first in the low nibbles.
pub(super) fn shared_nibble(bytes: &[u8], w: usize) -> u8 {
    bytes[w / 64 * 32 + w % 32] >> (w / 32 % 2 * 4) & 15
}

/// The first byte and the shift of the bit pairs of a group of 16 in Q2_K and Q3_K.
pub(super) fn pairs_of_group(group: usize) -> (usize, usize) {
    let (half, quarter, side) = (group / 8, group / 2 % 4, group % 2);
    (half * 32 + side * 16, quarter * 2)
}

/// Scale and minimum of group 0 to 7 of Q4_K and Q5_K, 6 bits each. Groups 0–3: the low six bits of bytes g and g + 4.
/// Groups 4–7: low four bits in a nibble of byte g + 4, high two bits at the top of bytes g − 4 and g.
pub(super) fn scale_and_min(packed: &[u8], group: usize) -> (u8, u8) {
    if group < 4 {
        return (packed[group] & 63, packed[group + 4] & 63);
    }
    let low = packed[group + 4];
    (low & 15 | packed[group - 4] >> 6 << 4, low >> 4 | packed[group] >> 6 << 4)
}

/// Bit `w` of a block's signs, the first in the lowest bit of the first byte.
pub(super) fn sign_at(signs: &[u8], w: usize) -> u8 {
    signs[w / 8] >> (w % 8) & 1
}

// Scales as the twins of the shaders read them: see `Twin::scales`.

/// Quants around `zero` with one f16 scale for the block.
pub(super) fn centred(scale: f32, zero: f32) -> [f32; 4] {
    [scale, scale, zero * scale, zero * scale]
}

/// The f16 pair of scale and offset of Q4_1 and Q5_1.
pub(super) fn scale_and_offset(scales: &[u8]) -> [f32; 4] {
    let (scale, offset) = (half_at(scales, 0), half_at(scales, 2));
    [scale, scale, -offset, -offset]
}

/// The 16 bytes of Q4_K and Q5_K: f16 scale and minimum, and twelve bytes of 6-bit scales and minima.
pub(super) fn six_bit_scales(scales: &[u8], part: usize) -> [f32; 4] {
    let (scale, min) = scale_and_min(&scales[4..], part);
    let (scale, min) = (f32::from(scale) * half_at(scales, 0), f32::from(min) * half_at(scales, 2));
    [scale, scale, min, min]
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_half_is_that_of_the_library() {
        for bits in 0..=u16::MAX {
            let expected = half::f16::from_bits(bits).to_f32();
            let found = super::half(bits);
            assert!(found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(), "{bits:#x}: {found}");
        }
    }
}
