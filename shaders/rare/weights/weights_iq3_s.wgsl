// IQ3_S: weight = scale · (1 + 2 · 4-bit scale) · (2 · quant - 15); a byte and a bit for each entry of a grid of four
// quants; a word of signs; an f16 per 256. The grid has the quants of positive weights, the others are their
// complement.
#import grid
#import grid_signs

override HIGH_AT: u32;
override SIGNS_AT: u32;
override SCALES_AT: u32;
override HEADS_AT: u32;

const GRID_WORDS = 512u;
const BITS = 4;
const HALVES = false;

// The ninth bits of the numbers of block b's entries.
fn high_bits(b: u32) -> u32 {
    // mutant (gather, mat_vec, mat_mul): 8u * (b & 3u) => 8u * (b & 1u)
    return w_word[HIGH_AT + b / 4u] >> (8u * (b & 3u));
}

// Quants 4k … 4k+3 of a block, given the word of its entries' numbers that has theirs.
fn word_of(numbers: u32, high: u32, signs: u32, k: u32) -> u32 {
    // mutant (gather, mat_vec, mat_mul): (high << (8u - k)) & 256u => (high << (8u - k)) & 0u
    let entry = ((numbers >> (8u * (k & 3u))) & 255u) | ((high << (8u - k)) & 256u);
    // mutant (gather, mat_vec, mat_mul): * 15u => * 7u
    return grid_word(entry) ^ (signs_of(signs, k) * 15u);
}

fn block_words(b: u32) -> array<u32, 8> {
    let first = w_word[2u * b];
    // mutant (mat_vec, mat_mul_int8): w_word[2u * b + 1u] => w_word[2u * b]
    let second = w_word[2u * b + 1u];
    let high = high_bits(b);
    let signs = w_word[SIGNS_AT + b];
    return array<u32, 8>(
        word_of(first, high, signs, 0u), word_of(first, high, signs, 1u),
        word_of(first, high, signs, 2u), word_of(first, high, signs, 3u),
        word_of(second, high, signs, 4u), word_of(second, high, signs, 5u),
        word_of(second, high, signs, 6u), word_of(second, high, signs, 7u),
    );
}

fn block_word(b: u32, k: u32) -> u32 {
    // mutant (gather, mat_mul): w_word[2u * b + k / 4u] => w_word[2u * b]
    return word_of(w_word[2u * b + k / 4u], high_bits(b), w_word[SIGNS_AT + b], k);
}

fn block_scales(b: u32) -> vec4<f32> {
    // mutant (gather, mat_vec): 4u * (b & 7u) => 4u * (b & 3u)
    let steps = (w_word[SCALES_AT + b / 8u] >> (4u * (b & 7u))) & 15u;
    let scale = f32(1u + 2u * steps) * half_at(HEADS_AT, b / 8u);
    // mutant (gather, mat_vec): 15.0 * scale, 15.0 * scale => 16.0 * scale, 16.0 * scale
    return vec4<f32>(2.0 * scale, 2.0 * scale, 15.0 * scale, 15.0 * scale);
}

#import quants
