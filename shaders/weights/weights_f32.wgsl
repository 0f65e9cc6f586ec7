// F32: 8 vec4 per block.
fn load_quad(b: u32, k: u32) -> vec4<f32> {
    // mutant (gather, mat_vec): b * 8u + k => b * 8u + (k & 3u)
    return bitcast<vec4<f32>>(w_vec[b * 8u + k]);
}

#import floats
