// Q2_K: weight = (scale · 4-bit scale) · quant - (minimum · 4-bit minimum); bit pairs; per 256 weights 16 bytes of
// scale (low nibble) and minimum (high), and a word of f16 scale and minimum.
#import bit_pairs

override SCALES_AT: u32;
override HEADS_AT: u32;

const BITS = 2;
const HALVES = true;

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
    // Two bytes per block, two blocks per word.
    // mutant (gather, mat_vec): 16u * (b & 1u) => 8u * (b & 1u)
    let bytes = w_word[SCALES_AT + b / 2u] >> (16u * (b & 1u));
    let nibbles = (vec4<u32>(bytes) >> vec4<u32>(0u, 8u, 4u, 12u)) & vec4<u32>(15u);
    return vec4<f32>(nibbles) * unpack2x16float(w_word[HEADS_AT + b / 8u]).xxyy;
}

#import quants
