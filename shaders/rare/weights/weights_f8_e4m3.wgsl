// F8_E4M3: 8 words per block, four weights each: a sign, four bits of exponent, three of mantissa.
const NAN = vec4<u32>(0x7fc00000u);

fn load_quad(b: u32, k: u32) -> vec4<f32> {
    let bytes = vec4<u32>(w_word[b * 8u + k]) >> vec4<u32>(0u, 8u, 16u, 24u);
    let size = bytes & vec4<u32>(127u);
    // mutant (gather): vec4<f32>(size) / 512.0 => vec4<f32>(size) / 256.0
    let small = bitcast<vec4<u32>>(vec4<f32>(size) / 512.0);
    // mutant (gather, mat_vec): vec4<u32>(120u << 23u) => vec4<u32>(121u << 23u)
    let usual = (size << vec4<u32>(20u)) + vec4<u32>(120u << 23u);
    let bits = select(select(usual, small, size < vec4<u32>(8u)), NAN, size == vec4<u32>(127u));
    return bitcast<vec4<f32>>(bits | ((bytes & vec4<u32>(128u)) << vec4<u32>(24u)));
}

#import floats
