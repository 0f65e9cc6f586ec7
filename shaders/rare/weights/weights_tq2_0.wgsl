// TQ2_0 and TQ1_0: weight = scale · (quant - 1); bit pairs; one f16 scale per 256 weights.
#import bit_pairs

override HEADS_AT: u32;

const BITS = 2;
const HALVES = false;

fn block_words(b: u32) -> array<u32, 8> {
    let first = w_word[b * 2u];
    // mutant (mat_vec, mat_mul_int8): let second = w_word[b * 2u + 1u]; => let second = w_word[b * 2u];
    let second = w_word[b * 2u + 1u];
    return array<u32, 8>(
        pair_word(first, 0u), pair_word(first, 1u), pair_word(first, 2u), pair_word(first, 3u),
        pair_word(second, 0u), pair_word(second, 1u), pair_word(second, 2u), pair_word(second, 3u),
    );
}

fn block_word(b: u32, k: u32) -> u32 {
    // mutant (gather, mat_mul): b * 2u + k / 4u => b * 2u
    return pair_word(w_word[b * 2u + k / 4u], k);
}

fn block_scales(b: u32) -> vec4<f32> {
    // mutant (gather, mat_vec): HEADS_AT, b / 8u => HEADS_AT, b / 16u
    return vec4<f32>(half_at(HEADS_AT, b / 8u));
}

#import quants
