// Q3_K: weight = scale · (6-bit scale - 32) · (quant - 4); two low bits and a high one; 12 bytes of scales, as in
// GGUF, and an f16 per 256. Scale i has its low nibble in byte i % 8 (the high half of it from scale 8 on) and its
// upper two bits in bits 2(i / 4) of byte 8 + i % 4.
#import bit_pairs

override HIGH_AT: u32;
override SCALES_AT: u32;
override HEADS_AT: u32;

const BITS = 3;
const HALVES = true;
const THIRD = 0x04040404u;

fn block_words(b: u32) -> array<u32, 8> {
    let first = w_word[b * 2u];
    let second = w_word[b * 2u + 1u];
    let h = w_word[HIGH_AT + b];
    return array<u32, 8>(
        pair_word(first, 0u) | ((h << 2u) & THIRD), pair_word(first, 1u) | ((h << 1u) & THIRD),
        pair_word(first, 2u) | (h & THIRD), pair_word(first, 3u) | ((h >> 1u) & THIRD),
        pair_word(second, 0u) | ((h >> 2u) & THIRD), pair_word(second, 1u) | ((h >> 3u) & THIRD),
        // mutant (mat_vec, mat_mul_int8): (h >> 5u) & THIRD => (h >> 4u) & THIRD
        pair_word(second, 2u) | ((h >> 4u) & THIRD), pair_word(second, 3u) | ((h >> 5u) & THIRD),
    );
}

fn block_word(b: u32, k: u32) -> u32 {
    // mutant (gather, mat_mul): >> k) << 2u => >> (k & 3u)) << 2u
    return pair_word(w_word[b * 2u + k / 4u], k) | (((w_word[HIGH_AT + b] >> k) << 2u) & THIRD);
}

fn block_scales(b: u32) -> vec4<f32> {
    let at = SCALES_AT + (b / 8u) * 3u;
    let i = 2u * (b & 7u); // scales i and i + 1
    // mutant (gather, mat_vec): (i >> 3u) * 4u => (i >> 2u) * 4u
    let low = (w_word[at + ((i >> 2u) & 1u)] >> (8u * (i & 3u) + (i >> 3u) * 4u)) & 0x0f0fu;
    let high = (w_word[at + 2u] >> (8u * (i & 3u) + 2u * (i >> 2u))) & 0x0303u;
    let both = low | (high << 4u);
    // mutant (gather, mat_vec): - 32.0 => - 31.0
    let scales = (vec2<f32>(vec2<u32>(both & 255u, both >> 8u)) - 32.0) * half_at(HEADS_AT, b / 8u);
    return vec4<f32>(scales, 4.0 * scales);
}

#import quants
