// BF16, the upper half of an f32: 16 words per block, two weights each.
fn load_quad(b: u32, k: u32) -> vec4<f32> {
    let words = w_vec[b * 4u + k / 2u];
    // mutant (gather, mat_vec): (k & 1u) == 1u => (k & 2u) == 2u
    let pair = select(words.xy, words.zw, (k & 1u) == 1u);
    // mutant (gather, mat_vec): pair.y << 16u, pair.y & 0xffff0000u => pair.y & 0xffff0000u, pair.y << 16u
    return bitcast<vec4<f32>>(vec4<u32>(pair.x << 16u, pair.x & 0xffff0000u, pair.y << 16u, pair.y & 0xffff0000u));
}

#import floats
