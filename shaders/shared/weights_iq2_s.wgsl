// IQ2_S: weight = scale · (4-bit scale + 1/2) / 4 · (quant - 60); a byte and two bits for each entry of a grid of
// eight; a word of signs.
#import grid_eights
#import halves_of_bytes

override HIGH_AT: u32;
override SIGNS_AT: u32;

const GRID_WORDS = 1024u;

// The upper two bits of the numbers of block b's entries.
fn high_bits(b: u32) -> u32 {
    // mutant (gather, mat_vec): 8u * (b & 3u) => 8u * (b & 1u)
    return w_word[HIGH_AT + b / 4u] >> (8u * (b & 3u));
}

// The signed entry of eighth g of a block.
fn entry_of(numbers: u32, high: u32, signs: u32, g: u32) -> u32 {
    // mutant (mat_vec, mat_mul_int8, gather, mat_mul): ((high >> (2u * g)) & 3u) => ((high >> (2u * g)) & 1u)
    return signed_entry(((numbers >> (8u * g)) & 255u) | (((high >> (2u * g)) & 3u) << 8u), signs, g);
}

fn block_words(b: u32) -> array<u32, 8> {
    let n = w_word[b];
    let high = high_bits(b);
    let signs = w_word[SIGNS_AT + b];
    let e0 = entry_of(n, high, signs, 0u);
    let e1 = entry_of(n, high, signs, 1u);
    let e2 = entry_of(n, high, signs, 2u);
    let e3 = entry_of(n, high, signs, 3u);
    return array<u32, 8>(
        quants_of(e0, 0u), quants_of(e0, 1u), quants_of(e1, 2u), quants_of(e1, 3u),
        // mutant (mat_vec, mat_mul_int8): quants_of(e3, 7u) => quants_of(e2, 7u)
        quants_of(e2, 4u), quants_of(e2, 5u), quants_of(e3, 6u), quants_of(e3, 7u),
    );
}

fn block_word(b: u32, k: u32) -> u32 {
    // mutant (gather, mat_mul): k / 2u => k / 4u
    return quants_of(entry_of(w_word[b], high_bits(b), w_word[SIGNS_AT + b], k / 2u), k);
}

#import quants
