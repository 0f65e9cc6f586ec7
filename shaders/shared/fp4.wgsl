// The low nibbles of a word's four bytes as numbers of FP4 (E2M1: a sign, two bits of exponent, one of mantissa),
// doubled, plus 16. Readers then have 5-bit quants, and the minimum 16 · scale takes the 16 off again. Doubled, the
// eight magnitudes are 0, 1, 2, 3, 4, 6, 8 and 12: computing four at once takes fewer instructions than looking up one.
fn fp4_word(nibbles: u32) -> u32 {
    let code = nibbles & 0x07070707u;
    // From 4 on the low two bits count twice, and 3 counts 2 more.
    // mutant (mat_vec, mat_mul_int8): nibbles >> 2u => nibbles >> 1u
    let twice = code & (((nibbles >> 2u) & 0x01010101u) * 3u);
    // mutant (gather, mat_mul): twice & (twice << 1u) => twice & twice
    let magnitude = code + twice + (twice & (twice << 1u));
    // 16 - m is (15 - m) + 1, and 15 - m has the bits of m flipped.
    let flip = ((nibbles >> 3u) & 0x01010101u) * 15u;
    // mutant (gather, mat_vec): 0x10101010u - flip => 0x10101010u
    return (magnitude ^ flip) + (0x10101010u - flip);
}
