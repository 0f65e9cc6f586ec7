// Q4_1: weight = scale · quant + offset; nibbles; a word of f16 scale and offset per block.
#import nibbles

override SCALES_AT: u32;

const BITS = 4;
const HALVES = false;

fn block_words(b: u32) -> array<u32, 8> {
    return open_nibble_words(b);
}

fn block_word(b: u32, k: u32) -> u32 {
    return open_nibble_word(b, k);
}

fn block_scales(b: u32) -> vec4<f32> {
    let pair = unpack2x16float(w_word[SCALES_AT + b]);
    // mutant (mat_vec, mat_vec_split, mat_mul_int8): -pair.y, - => pair.y,
    return vec4<f32>(pair.x, pair.x, -pair.y, -pair.y);
}

#import quants
