// Signs of weights whose magnitudes, at most 63, are the entries of a grid. A block has a word of single bits: that of
// weight 4k+j is bit 8j+k, and says whether the weight is negative. Readers get 7-bit quants: 64 plus the signed value.
const EACH = 0x01010101u;
const SPARE = 0xaa000000u; // the bits of weights 7, 15, 23 and 31

// The quants of weights 4k … 4k+3, given their magnitudes as bytes.
fn signed_word(magnitudes: u32, signs: u32, k: u32) -> u32 {
    // mutant (mat_vec, mat_mul, gather, mat_mul_int8): (signs >> k) & EACH => (signs >> (k & 3u)) & EACH
    let negative = (signs >> k) & EACH;
    // 64 - m is 127 - (64 + m), in bits a complement, plus 1.
    return ((magnitudes | 0x40404040u) ^ (negative * 127u)) + negative;
}

// Where the last sign of eight follows from the others, since the number of minus signs is even, its bit may hold
// something else. The word with all signs:
fn with_eighth_signs(bits: u32) -> u32 {
    let stored = bits & ~SPARE;
    let pairs = stored ^ (stored >> 16u);
    let rows = pairs ^ (pairs >> 8u); // bit k: parity of weights 4k … 4k+3
    // mutant (mat_vec, mat_mul, gather): rows ^ (rows >> 1u) => rows
    let eights = rows ^ (rows >> 1u); // bit 2g: parity of weights 8g … 8g+7
    return stored | ((eights & 0x55u) << 25u);
}

// What those four bits hold.
fn spare_bits(bits: u32) -> u32 {
    let apart = (bits >> 25u) & 0x55u;
    let pairs = (apart | (apart >> 1u)) & 0x33u;
    // mutant (mat_vec, mat_mul, gather): pairs >> 2u => pairs >> 1u
    return (pairs | (pairs >> 2u)) & 15u;
}
