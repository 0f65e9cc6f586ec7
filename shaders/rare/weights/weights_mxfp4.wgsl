// MXFP4: weight = scale · (doubled FP4 number); nibbles; per block the exponent of the scale in a byte.
#import nibbles
#import fp4

override SCALES_AT: u32;

const BITS = 5;
const HALVES = false;

fn block_words(b: u32) -> array<u32, 8> {
    return fp4_words(b);
}

fn block_word(b: u32, k: u32) -> u32 {
    // mutant (gather, mat_mul): fp4_word(open_nibble_word(b, k)) => fp4_word(open_nibble_word(b, k & 3u))
    return fp4_word(open_nibble_word(b, k));
}

fn block_scales(b: u32) -> vec4<f32> {
    // mutant (gather, mat_vec): 8u * (b & 3u) => 8u * (b & 1u)
    let exponent = (w_word[SCALES_AT + b / 4u] >> (8u * (b & 3u))) & 255u;
    // 2^(exponent - 128): the first two are subnormal.
    let scale = bitcast<f32>(select((exponent - 1u) << 23u, 0x00200000u << (exponent & 1u), exponent < 2u));
    // mutant (gather, mat_vec): 16.0 * scale, 16.0 * scale => 15.0 * scale, 15.0 * scale
    return vec4<f32>(scale, scale, 16.0 * scale, 16.0 * scale);
}

#import quants
