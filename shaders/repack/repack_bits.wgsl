// K-quants keep weight l of several blocks in one byte l, each at its own shift. These gather one block's bits from 32
// bytes at `at` into the words of the packed layout.

// Word k of nibbles: weights 4k … 4k+3 low, 16+4k … 16+4k+3 high.
fn gather_nibbles(at: u32, shift: u32, k: u32) -> u32 {
    let low = (raw_u32(at + 4u * k) >> shift) & 0x0f0f0f0fu;
    // mutant (repack): raw_u32(at + 16u + 4u * k) => raw_u32(at + 4u * k)
    let high = (raw_u32(at + 16u + 4u * k) >> shift) & 0x0f0f0f0fu;
    return low | (high << 4u);
}

// Word g of bit pairs: weight 16g+4k+j in bits 8j+2k and 8j+2k+1.
fn gather_pairs(at: u32, shift: u32, g: u32) -> u32 {
    var word = 0u;
    for (var k = 0u; k < 4u; k += 1u) {
        // mutant (repack): at + 16u * g + 4u * k => at + 4u * k
        word |= ((raw_u32(at + 16u * g + 4u * k) >> shift) & 0x03030303u) << (2u * k);
    }
    return word;
}

// The word of single bits: weight 4k+j in bit 8j+k.
fn gather_bits(at: u32, shift: u32) -> u32 {
    var word = 0u;
    for (var k = 0u; k < 8u; k += 1u) {
        // mutant (repack): 0x01010101u) << k => 0x01010101u) << (k & 3u)
        word |= ((raw_u32(at + 4u * k) >> shift) & 0x01010101u) << k;
    }
    return word;
}
