// Q5_1: weight = scale · quant + offset; a word of f16 scale and offset per block.
#import fifth_bit

override SCALES_AT: u32;

const BITS = 5;
const HALVES = false;

fn block_scales(b: u32) -> vec4<f32> {
    // mutant (gather, mat_vec): w_word[SCALES_AT + b] => w_word[SCALES_AT + b / 2u]
    let pair = unpack2x16float(w_word[SCALES_AT + b]);
    return vec4<f32>(pair.x, pair.x, -pair.y, -pair.y);
}

#import quants
