// Signs of weights that are entries of a grid: a word for each block, in which the bit of weight 8g + 4h + j is bit
// 8j + 4h + g.

// Where the last sign of eight follows from the others, since the number of minus signs is even, its bit holds
// something else: the upper four of the word. The word with all signs:
fn with_eighth_signs(bits: u32) -> u32 {
    let stored = bits & 0x0fffffffu;
    let pairs = stored ^ (stored >> 16u);
    let quads = pairs ^ (pairs >> 8u);
    // Bit g: parity of weights 8g … 8g+7.
    // mutant (mat_vec, mat_mul, gather): quads ^ (quads >> 4u) => quads
    let eights = quads ^ (quads >> 4u);
    return stored | (eights << 28u);
}

// The signs of weights 4k … 4k+3, as bytes.
fn signs_of(signs: u32, k: u32) -> u32 {
    // mutant (mat_vec, mat_mul, gather, mat_mul_int8): 4u * (k & 1u) + k / 2u => 4u * (k & 1u)
    return (signs >> (4u * (k & 1u) + k / 2u)) & 0x01010101u;
}

// Four quants of 64 plus a magnitude (at most 63) → 64 minus it where `negative` has a 1 in their byte. In bits 64 - m
// is the complement of 64 + m, 127 - (64 + m), plus 1.
fn signed(quants: u32, negative: u32) -> u32 {
    // mutant (mat_vec, mat_mul, gather, mat_mul_int8): (negative * 127u)) + negative => (negative * 127u))
    return (quants ^ (negative * 127u)) + negative;
}
