// Q5_0: weight = scale · (quant - 16); one f16 scale per block.
#import fifth_bit

override SCALES_AT: u32;

const BITS = 5;
const HALVES = false;

fn block_scales(b: u32) -> vec4<f32> {
    let scale = half_at(SCALES_AT, b);
    // mutant (gather, mat_vec): 16.0 * scale, 16.0 * scale => 15.0 * scale, 15.0 * scale
    return vec4<f32>(scale, scale, 16.0 * scale, 16.0 * scale);
}

#import quants
