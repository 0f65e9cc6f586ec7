// IQ2_XS: weight = scale · (4-bit scale + 1/2) / 4 · (quant - 64); a byte for each entry of a grid of eight; a word of
// signs and of the ninth bits of the entries' numbers.
#import grid_eights
#import halves_of_bytes

override SIGNS_AT: u32;

const GRID_PAIRS = 512u;

// The entry of eighth g of a block, given the low bytes of the numbers of its four, and its word of bits.
fn entry_of(numbers: u32, bits: u32, g: u32) -> u32 {
    // mutant (mat_vec, mat_mul_int8, gather, mat_mul): (bits >> (20u + g)) & 256u => (bits >> 20u) & 256u
    return ((numbers >> (8u * g)) & 255u) | ((bits >> (20u + g)) & 256u);
}

fn block_words(b: u32) -> array<u32, 8> {
    let n = w_word[b];
    let bits = w_word[SIGNS_AT + b];
    let entries = vec4<u32>(entry_of(n, bits, 0u), entry_of(n, bits, 1u), entry_of(n, bits, 2u), entry_of(n, bits, 3u));
    return words_of(entries, with_eighth_signs(bits));
}

fn block_word(b: u32, k: u32) -> u32 {
    let bits = w_word[SIGNS_AT + b];
    // mutant (gather, mat_mul): k / 2u => k / 4u
    return word_of(entry_of(w_word[b], bits, k / 2u), with_eighth_signs(bits), k);
}

#import quants
