// Q2_0: weight = scale · (quant - 1); bit pairs; one f16 scale per 64 weights.
#import bit_pairs

override SCALES_AT: u32;

const BITS = 2;
const HALVES = false;

fn block_words(b: u32) -> array<u32, 8> {
    let first = w_word[b * 2u];
    // mutant (mat_vec, mat_mul_int8): let second = w_word[b * 2u + 1u]; => let second = w_word[b * 2u];
    let second = w_word[b * 2u + 1u];
    return array<u32, 8>(
        first, first >> 2u, first >> 4u, first >> 6u, second, second >> 2u, second >> 4u, second >> 6u,
    );
}

fn block_word(b: u32, k: u32) -> u32 {
    // mutant (gather, mat_mul): b * 2u + k / 4u => b * 2u
    return pair_word(w_word[b * 2u + k / 4u], k);
}

fn block_scales(b: u32) -> vec4<f32> {
    // mutant (gather, mat_vec): SCALES_AT, b / 2u => SCALES_AT, b / 4u
    return vec4<f32>(half_at(SCALES_AT, b / 2u));
}

#import quants
