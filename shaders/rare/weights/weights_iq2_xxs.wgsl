// IQ2_XXS: weight = scale · (4-bit scale + 1/2) / 4 · (quant - 64); a byte for each entry of a grid of eight; a word of
// signs and scale; an f16 per 256.
#import grid_eights

override SCALES_AT: u32;
override HEADS_AT: u32;

const GRID_PAIRS = 256u;
const HALVES = false;

// The entry of eighth g of a block, given the numbers of its four.
fn entry_of(numbers: u32, g: u32) -> u32 {
    // mutant (mat_vec, mat_mul_int8, gather, mat_mul): numbers >> (8u * g) => numbers >> (8u * (g & 1u))
    return (numbers >> (8u * g)) & 255u;
}

fn block_words(b: u32) -> array<u32, 8> {
    let n = w_word[b];
    let entries = vec4<u32>(entry_of(n, 0u), entry_of(n, 1u), entry_of(n, 2u), entry_of(n, 3u));
    return words_of(entries, with_eighth_signs(w_word[SCALES_AT + b]));
}

fn block_word(b: u32, k: u32) -> u32 {
    // mutant (gather, mat_mul): k / 2u => k / 4u
    return word_of(entry_of(w_word[b], k / 2u), with_eighth_signs(w_word[SCALES_AT + b]), k);
}

fn block_scales(b: u32) -> vec4<f32> {
    let steps = f32(w_word[SCALES_AT + b] >> 28u);
    // mutant (gather, mat_vec): 0.25 * steps + 0.125 => 0.25 * steps
    let scale = (0.25 * steps + 0.125) * half_at(HEADS_AT, b / 8u);
    return vec4<f32>(scale, scale, 64.0 * scale, 64.0 * scale);
}

#import quants
