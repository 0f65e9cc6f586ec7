// Q4_K: weight = (scale · 6-bit scale) · quant - (minimum · 6-bit minimum); nibbles.
#import nibbles
#import six_bit_scales

const BITS = 4;
const HALVES = false;

fn block_words(b: u32) -> array<u32, 8> {
    // mutant (mat_vec, mat_mul_int8): return open_nibble_words(b); => return open_nibble_words(b + 1u);
    return open_nibble_words(b);
}

fn block_word(b: u32, k: u32) -> u32 {
    // mutant (gather, mat_mul): open_nibble_word(b, k) => open_nibble_word(b, k & 3u)
    return open_nibble_word(b, k);
}

#import quants
