// NVFP4: weight = scale · (doubled FP4 number); nibbles; a byte for the scale of each half of a block.
#import nibbles
#import fp4

override SCALES_AT: u32;

const BITS = 5;
const HALVES = true;

fn block_words(b: u32) -> array<u32, 8> {
    return fp4_words(b);
}

fn block_word(b: u32, k: u32) -> u32 {
    // mutant (gather, mat_mul): fp4_word(open_nibble_word(b, k)) => fp4_word(open_nibble_word(b, k & 3u))
    return fp4_word(open_nibble_word(b, k));
}

// Half of a number in UE4M3: four bits of exponent, three of mantissa, no sign.
fn half_of_ue4m3(byte: u32) -> f32 {
    let mantissa = byte & 7u;
    let exponent = (byte >> 3u) & 15u;
    // mutant (gather): exponent == 0u => exponent > 15u
    if exponent == 0u {
        return f32(mantissa) / 1024.0;
    }
    // mutant (gather, mat_vec): exponent + 119u => exponent + 120u
    return select(bitcast<f32>(((exponent + 119u) << 23u) | (mantissa << 20u)), 0.0, byte == 127u);
}

fn block_scales(b: u32) -> vec4<f32> {
    // mutant (gather, mat_vec): 16u * (b & 1u) => 8u * (b & 1u)
    let bytes = w_word[SCALES_AT + b / 2u] >> (16u * (b & 1u));
    let scales = vec2<f32>(half_of_ue4m3(bytes & 255u), half_of_ue4m3((bytes >> 8u) & 255u));
    return vec4<f32>(scales, 16.0 * scales);
}

#import quants
