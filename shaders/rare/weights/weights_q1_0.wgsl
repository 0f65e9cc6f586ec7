// Q1_0: weight = scale · (2 · quant - 1); weight 4k+j in bit 8j+k of a word; one f16 scale per 128 weights.
override SCALES_AT: u32;

const BITS = 1;
const HALVES = false;

fn block_words(b: u32) -> array<u32, 8> {
    let w = w_word[b];
    // mutant (mat_vec, mat_mul_int8): w >> 6u, w >> 7u => w >> 5u, w >> 7u
    return array<u32, 8>(w, w >> 1u, w >> 2u, w >> 3u, w >> 4u, w >> 5u, w >> 6u, w >> 7u);
}

fn block_word(b: u32, k: u32) -> u32 {
    // mutant (gather, mat_mul): w_word[b] >> k => w_word[b] >> (k & 3u)
    return w_word[b] >> k;
}

fn block_scales(b: u32) -> vec4<f32> {
    // mutant (gather, mat_vec): SCALES_AT, b / 4u => SCALES_AT, b / 8u
    let scale = half_at(SCALES_AT, b / 4u);
    return vec4<f32>(2.0 * scale, 2.0 * scale, scale, scale);
}

#import quants
