// IQ2_XS: weight = scale · (4-bit scale + 1/2) / 4 · signed value; a byte for each entry of a grid of eight magnitudes;
// a word of signs and of the ninth bits of the entries' numbers.
#import grid_signs
#import grid_eights
#import grid_magnitudes
#import halves_of_bytes

override SIGNS_AT: u32;

const BITS = 7;

// The entry of eighth g of a block, given the numbers of its four and its word of signs.
fn entry_of(numbers: u32, bits: u32, g: u32) -> u32 {
    // mutant (mat_vec, mat_mul_int8, gather, mat_mul): bits >> (25u + 2u * g) => bits >> (24u + 2u * g)
    return entry((numbers >> (8u * g)) & 255u, (bits >> (25u + 2u * g)) & 1u);
}

fn word_of(entry: u32, signs: u32, k: u32) -> u32 {
    return signed_word(magnitudes_of(codes_of(entry, k)), signs, k);
}

fn block_words(b: u32) -> array<u32, 8> {
    let n = w_word[b];
    let bits = w_word[SIGNS_AT + b];
    let signs = with_eighth_signs(bits);
    let e = array<u32, 4>(entry_of(n, bits, 0u), entry_of(n, bits, 1u), entry_of(n, bits, 2u), entry_of(n, bits, 3u));
    return array<u32, 8>(
        // mutant (mat_vec, mat_mul_int8): word_of(e[1], signs, 3u) => word_of(e[1], signs, 2u)
        word_of(e[0], signs, 0u), word_of(e[0], signs, 1u), word_of(e[1], signs, 2u), word_of(e[1], signs, 3u),
        word_of(e[2], signs, 4u), word_of(e[2], signs, 5u), word_of(e[3], signs, 6u), word_of(e[3], signs, 7u),
    );
}

fn block_word(b: u32, k: u32) -> u32 {
    let bits = w_word[SIGNS_AT + b];
    // mutant (gather, mat_mul): k / 2u => k / 4u
    return word_of(entry_of(w_word[b], bits, k / 2u), with_eighth_signs(bits), k);
}

#import quants
