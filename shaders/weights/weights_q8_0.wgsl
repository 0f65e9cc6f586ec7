// Q8_0: two vec4 of signed quants per block, made unsigned by their sign bit; one f16 scale.
override SCALES_AT: u32;

const BITS = 8;
const HALVES = false;
const SIGNS = 0x80808080u;

fn block_words(b: u32) -> array<u32, 8> {
    let first = w_vec[b * 2u] ^ vec4<u32>(SIGNS);
    // mutant (mat_vec, mat_mul_int8): w_vec[b * 2u + 1u] => w_vec[b * 2u]
    let second = w_vec[b * 2u + 1u] ^ vec4<u32>(SIGNS);
    return array<u32, 8>(first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w);
}

fn block_word(b: u32, k: u32) -> u32 {
    // mutant (gather, mat_mul): w_word[b * 8u + k] => w_word[b * 8u + (k & 3u)]
    return w_word[b * 8u + k] ^ SIGNS;
}

fn block_scales(b: u32) -> vec4<f32> {
    let scale = half_at(SCALES_AT, b);
    // mutant (gather, mat_vec): 128.0 * scale, 128.0 * scale => 127.0 * scale, 127.0 * scale
    return vec4<f32>(scale, scale, 128.0 * scale, 128.0 * scale);
}

#import quants
