// IQ2_XXS: weight = scale · (4-bit scale + 1/2) / 4 · (quant - 60); a byte for each entry of a grid of eight; a word of
// signs and scale; an f16 per 256.
#import grid_eights

override SCALES_AT: u32;
override HEADS_AT: u32;

const GRID_WORDS = 256u;
const HALVES = false;

// The signed entry of eighth g of a block, given the numbers of its four.
fn entry_of(numbers: u32, signs: u32, g: u32) -> u32 {
    // mutant (mat_vec, mat_mul_int8, gather, mat_mul): numbers >> (8u * g) => numbers >> (8u * (g & 1u))
    return signed_entry((numbers >> (8u * g)) & 255u, signs, g);
}

fn block_words(b: u32) -> array<u32, 8> {
    let n = w_word[b];
    let signs = with_eighth_signs(w_word[SCALES_AT + b]);
    let e0 = entry_of(n, signs, 0u);
    let e1 = entry_of(n, signs, 1u);
    let e2 = entry_of(n, signs, 2u);
    let e3 = entry_of(n, signs, 3u);
    return array<u32, 8>(
        quants_of(e0, 0u), quants_of(e0, 1u), quants_of(e1, 2u), quants_of(e1, 3u),
        quants_of(e2, 4u), quants_of(e2, 5u), quants_of(e3, 6u), quants_of(e3, 7u),
    );
}

fn block_word(b: u32, k: u32) -> u32 {
    // mutant (gather, mat_mul): k / 2u => k / 4u
    return quants_of(entry_of(w_word[b], with_eighth_signs(w_word[SCALES_AT + b]), k / 2u), k);
}

fn block_scales(b: u32) -> vec4<f32> {
    let steps = f32(w_word[SCALES_AT + b] >> 28u);
    // mutant (gather, mat_vec): 0.25 * steps + 0.125 => 0.25 * steps
    let scale = (0.25 * steps + 0.125) * half_at(HEADS_AT, b / 8u);
    return vec4<f32>(scale, scale, 60.0 * scale, 60.0 * scale);
}

#import quants
