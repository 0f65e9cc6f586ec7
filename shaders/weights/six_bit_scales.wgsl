// The head of a super-block of Q4_K and Q5_K, one vec4 from SCALES_AT on, as in GGUF: f16 scale and minimum, then
// twelve bytes with eight pairs of 6-bit scale and minimum. The first four scales are in the low bits of bytes 0–3
// and the first four minima in those of bytes 4–7; of the other four, the low nibbles share bytes 8–11 and the upper
// two bits fill up bytes 0–7.
override SCALES_AT: u32;

fn block_scales(b: u32) -> vec4<f32> {
    let head = w_vec[SCALES_AT / 4u + b / 8u];
    let shift = 8u * (b & 3u);
    let bytes = (head.yzw >> vec3<u32>(shift)) & vec3<u32>(255u);
    let early = bytes.xy & vec2<u32>(63u);
    // mutant (mat_vec, gather, mat_mul_int8): bytes.xy >> vec2<u32>(6u) => bytes.yx >> vec2<u32>(6u)
    let late = vec2<u32>(bytes.z & 15u, bytes.z >> 4u) | ((bytes.xy >> vec2<u32>(6u)) << vec2<u32>(4u));
    // mutant (mat_vec, gather, mat_mul_int8): (b & 4u) != 0u => (b & 4u) == 0u
    let scales = unpack2x16float(head.x) * vec2<f32>(select(early, late, (b & 4u) != 0u));
    return scales.xxyy;
}
