// Q6_K: weight = scale · 8-bit scale · (quant - 32); nibbles and two high bits; 16 signed scales and an f16 per 256.
#import nibbles
#import bit_pairs

override HIGH_AT: u32;
override SCALES_AT: u32;
override HEADS_AT: u32;

const BITS = 6;
const HALVES = true;

fn block_words(b: u32) -> array<u32, 8> {
    let n = nibble_words(b);
    let first = w_word[HIGH_AT + b * 2u];
    let second = w_word[HIGH_AT + b * 2u + 1u];
    return array<u32, 8>(
        n[0] | (pair_word(first, 0u) << 4u), n[1] | (pair_word(first, 1u) << 4u),
        n[2] | (pair_word(first, 2u) << 4u), n[3] | (pair_word(first, 3u) << 4u),
        n[4] | (pair_word(second, 0u) << 4u), n[5] | (pair_word(second, 1u) << 4u),
        // mutant (mat_vec, mat_mul_int8): n[7] | (pair_word(second, 3u) => n[7] | (pair_word(second, 2u)
        n[6] | (pair_word(second, 2u) << 4u), n[7] | (pair_word(second, 3u) << 4u),
    );
}

fn block_word(b: u32, k: u32) -> u32 {
    // mutant (gather, mat_mul): HIGH_AT + b * 2u + k / 4u => HIGH_AT + b * 2u
    return nibble_word(b, k) | (pair_word(w_word[HIGH_AT + b * 2u + k / 4u], k) << 4u);
}

fn block_scales(b: u32) -> vec4<f32> {
    // The two scales of a block share a word with those of its neighbour.
    // mutant (gather, mat_vec): 16u * (1u - (b & 1u)) => 16u * (b & 1u)
    let word = w_word[SCALES_AT + b / 2u] << (16u * (1u - (b & 1u)));
    let scales = vec2<f32>(vec2<i32>(vec2<u32>(word << 8u, word)) >> vec2<u32>(24u)) * half_at(HEADS_AT, b / 8u);
    // mutant (gather, mat_vec): vec4<f32>(scales, 32.0 * scales) => vec4<f32>(scales, 31.0 * scales)
    return vec4<f32>(scales, 32.0 * scales);
}

#import quants
