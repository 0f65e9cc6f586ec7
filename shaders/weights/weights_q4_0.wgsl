// Q4_0: weight = scale · (quant - 8); nibbles; one f16 scale per block.
#import nibbles

override SCALES_AT: u32;

const BITS = 4;
const HALVES = false;

fn block_words(b: u32) -> array<u32, 8> {
    return open_nibble_words(b);
}

fn block_word(b: u32, k: u32) -> u32 {
    // mutant (gather, mat_mul): open_nibble_word(b, k) => open_nibble_word(b, k & 3u)
    return open_nibble_word(b, k);
}

fn block_scales(b: u32) -> vec4<f32> {
    let scale = half_at(SCALES_AT, b);
    // mutant (gather, mat_vec): 8.0 * scale, 8.0 * scale => 7.0 * scale, 7.0 * scale
    return vec4<f32>(scale, scale, 8.0 * scale, 8.0 * scale);
}

#import quants
