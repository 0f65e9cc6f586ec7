// IQ2_XS and IQ2_S: a byte of two 4-bit scales for either half of a block, and an f16 per 256.
override SCALES_AT: u32;
override HEADS_AT: u32;

const HALVES = true;

fn block_scales(b: u32) -> vec4<f32> {
    // mutant (gather, mat_vec): 8u * (b & 3u) => 8u * (b & 1u)
    let byte = w_word[SCALES_AT + b / 4u] >> (8u * (b & 3u));
    // mutant (gather, mat_vec): byte >> 4u => byte >> 3u
    let steps = vec2<f32>(vec2<u32>(byte, byte >> 4u) & vec2<u32>(15u));
    let scales = (0.25 * steps + 0.125) * half_at(HEADS_AT, b / 8u);
    return vec4<f32>(scales, 64.0 * scales);
}
