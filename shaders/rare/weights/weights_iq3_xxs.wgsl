// IQ3_XXS: weight = scale · (4-bit scale + 1/2) / 2 · signed value; a byte for each entry of a grid of four magnitudes,
// at most 62; a word of signs and scale; an f16 per 256. A quant is 64 plus the signed value, as in grid_signs.
#import grid
#import grid_signs

override SCALES_AT: u32;
override HEADS_AT: u32;

const GRID_WORDS = 256u;
const BITS = 7;
const HALVES = false;

// Quants 4k … 4k+3 of a block, given the word of its entries' numbers that has theirs.
fn word_of(numbers: u32, signs: u32, k: u32) -> u32 {
    // mutant (mat_vec, mat_mul, gather, mat_mul_int8): 8u * (k & 3u) => 8u * (k & 1u)
    return signed(grid_word((numbers >> (8u * (k & 3u))) & 255u), signs_of(signs, k));
}

fn block_words(b: u32) -> array<u32, 8> {
    let first = w_word[2u * b];
    // mutant (mat_vec, mat_mul_int8): w_word[2u * b + 1u] => w_word[2u * b]
    let second = w_word[2u * b + 1u];
    let signs = with_eighth_signs(w_word[SCALES_AT + b]);
    return array<u32, 8>(
        word_of(first, signs, 0u), word_of(first, signs, 1u), word_of(first, signs, 2u), word_of(first, signs, 3u),
        word_of(second, signs, 4u), word_of(second, signs, 5u), word_of(second, signs, 6u), word_of(second, signs, 7u),
    );
}

fn block_word(b: u32, k: u32) -> u32 {
    // mutant (gather, mat_mul): w_word[2u * b + k / 4u] => w_word[2u * b]
    return word_of(w_word[2u * b + k / 4u], with_eighth_signs(w_word[SCALES_AT + b]), k);
}

fn block_scales(b: u32) -> vec4<f32> {
    let steps = f32(w_word[SCALES_AT + b] >> 28u);
    // mutant (gather, mat_vec): 0.5 * steps + 0.25 => 0.5 * steps
    let scale = (0.5 * steps + 0.25) * half_at(HEADS_AT, b / 8u);
    return vec4<f32>(scale, scale, 64.0 * scale, 64.0 * scale);
}

#import quants
