// IQ2_S: weight = scale · (4-bit scale + 1/2) / 4 · signed value; a byte and two bits for each entry of a grid of eight
// magnitudes; bits of signs.
#import grid_signs
#import grid_eights
#import grid_magnitudes
#import halves_of_bytes

override HIGH_AT: u32;
override SIGNS_AT: u32;

const BITS = 7;

// The upper two bits of the numbers of block b's entries.
fn high_bits(b: u32) -> u32 {
    // mutant (gather, mat_vec): 8u * (b & 3u) => 8u * (b & 1u)
    return w_word[HIGH_AT + b / 4u] >> (8u * (b & 3u));
}

// The entry of eighth g of a block.
fn entry_of(numbers: u32, high: u32, g: u32) -> u32 {
    let upper = high >> (2u * g);
    // mutant (mat_vec, mat_mul_int8, gather, mat_mul): (upper >> 1u) & 1u => upper & 1u
    return entry(((numbers >> (8u * g)) & 255u) | ((upper & 1u) << 8u), (upper >> 1u) & 1u);
}

fn word_of(entry: u32, signs: u32, k: u32) -> u32 {
    return signed_word(magnitudes_of(codes_of(entry, k)), signs, k);
}

fn block_words(b: u32) -> array<u32, 8> {
    let n = w_word[b];
    let high = high_bits(b);
    let signs = w_word[SIGNS_AT + b];
    let e = array<u32, 4>(entry_of(n, high, 0u), entry_of(n, high, 1u), entry_of(n, high, 2u), entry_of(n, high, 3u));
    return array<u32, 8>(
        word_of(e[0], signs, 0u), word_of(e[0], signs, 1u), word_of(e[1], signs, 2u), word_of(e[1], signs, 3u),
        // mutant (mat_vec, mat_mul_int8): word_of(e[3], signs, 7u) => word_of(e[2], signs, 7u)
        word_of(e[2], signs, 4u), word_of(e[2], signs, 5u), word_of(e[3], signs, 6u), word_of(e[3], signs, 7u),
    );
}

fn block_word(b: u32, k: u32) -> u32 {
    // mutant (gather, mat_mul): k / 2u => k / 4u
    return word_of(entry_of(w_word[b], high_bits(b), k / 2u), w_word[SIGNS_AT + b], k);
}

#import quants
