// F16: 16 words per block, two weights each.
fn load_quad(b: u32, k: u32) -> vec4<f32> {
    // mutant (gather, mat_vec): w_vec[b * 4u + k / 2u] => w_vec[b * 4u + k / 4u]
    let words = w_vec[b * 4u + k / 2u];
    let pair = select(words.xy, words.zw, (k & 1u) == 1u);
    return vec4<f32>(unpack2x16float(pair.x), unpack2x16float(pair.y));
}

#import floats
