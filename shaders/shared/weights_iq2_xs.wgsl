// IQ2_XS: weight = scale · (4-bit scale + 1/2) / 4 · (quant - 60); a byte for each entry of a grid of eight; a word of
// signs and of the ninth bits of the entries' numbers.
#import grid_eights
#import halves_of_bytes

override SIGNS_AT: u32;

const GRID_WORDS = 512u;

// The signed entry of eighth g of a block, given the numbers of its four, and its word of bits as it is and of signs.
fn entry_of(numbers: u32, bits: u32, signs: u32, g: u32) -> u32 {
    // mutant (mat_vec, mat_mul_int8, gather, mat_mul): (bits >> (20u + g)) & 256u => (bits >> 20u) & 256u
    return signed_entry(((numbers >> (8u * g)) & 255u) | ((bits >> (20u + g)) & 256u), signs, g);
}

fn block_words(b: u32) -> array<u32, 8> {
    let n = w_word[b];
    let bits = w_word[SIGNS_AT + b];
    let signs = with_eighth_signs(bits);
    let e0 = entry_of(n, bits, signs, 0u);
    let e1 = entry_of(n, bits, signs, 1u);
    let e2 = entry_of(n, bits, signs, 2u);
    let e3 = entry_of(n, bits, signs, 3u);
    return array<u32, 8>(
        // mutant (mat_vec, mat_mul_int8): quants_of(e1, 3u) => quants_of(e1, 2u)
        quants_of(e0, 0u), quants_of(e0, 1u), quants_of(e1, 2u), quants_of(e1, 3u),
        quants_of(e2, 4u), quants_of(e2, 5u), quants_of(e3, 6u), quants_of(e3, 7u),
    );
}

fn block_word(b: u32, k: u32) -> u32 {
    let bits = w_word[SIGNS_AT + b];
    // mutant (gather, mat_mul): k / 2u => k / 4u
    return quants_of(entry_of(w_word[b], bits, with_eighth_signs(bits), k / 2u), k);
}

#import quants
