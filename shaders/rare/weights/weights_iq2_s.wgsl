// IQ2_S: weight = scale · (4-bit scale + 1/2) / 4 · (quant - 64); a byte and two bits for each entry of a grid of
// eight; a word of signs.
#import grid_eights
#import halves_of_bytes

override HIGH_AT: u32;
override SIGNS_AT: u32;

const GRID_PAIRS = 1024u;

// The upper two bits of the numbers of block b's entries.
fn high_bits(b: u32) -> u32 {
    // mutant (gather, mat_vec): 8u * (b & 3u) => 8u * (b & 1u)
    return w_word[HIGH_AT + b / 4u] >> (8u * (b & 3u));
}

// The entry of eighth g of a block.
fn entry_of(numbers: u32, high: u32, g: u32) -> u32 {
    // mutant (mat_vec, mat_mul_int8, gather, mat_mul): (high << (8u - 2u * g)) & 768u => (high << (8u - 2u * g)) & 256u
    return ((numbers >> (8u * g)) & 255u) | ((high << (8u - 2u * g)) & 768u);
}

fn block_words(b: u32) -> array<u32, 8> {
    let n = w_word[b];
    let high = high_bits(b);
    let entries = vec4<u32>(entry_of(n, high, 0u), entry_of(n, high, 1u), entry_of(n, high, 2u), entry_of(n, high, 3u));
    return words_of(entries, w_word[SIGNS_AT + b]);
}

fn block_word(b: u32, k: u32) -> u32 {
    // mutant (gather, mat_mul): k / 2u => k / 4u
    return word_of(entry_of(w_word[b], high_bits(b), k / 2u), w_word[SIGNS_AT + b], k);
}

#import quants
