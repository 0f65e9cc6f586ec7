// What `unpack2x16float` does, in integers: for devices whose own takes subnormal numbers for 0.
fn f16_to_f32(word: u32) -> vec2<f32> {
    let halves = vec2<u32>(word, word >> 16u);
    let sign = (halves & vec2<u32>(0x8000u)) << vec2<u32>(16u);
    let size = (halves & vec2<u32>(0x7fffu)) << vec2<u32>(13u);
    // Exponents count from -15 in f16 and from -127 in f32; the largest stands for infinities and NaN in both.
    // mutant (unpack_f16): vec2<u32>(0x70000000u) => vec2<u32>(0x38000000u)
    let offset = select(vec2<u32>(0x38000000u), vec2<u32>(0x70000000u), size >= vec2<u32>(0x0f800000u));
    // Below 2^-14 the bits are a fraction of it: 1 is put before the point and taken off as a float, 2^-14.
    let small = bitcast<vec2<f32>>(size | vec2<u32>(0x38800000u)) - vec2<f32>(1.0 / 16384.0);
    // mutant (unpack_f16): size < vec2<u32>(0x00800000u) => size < vec2<u32>(0x00000001u)
    let magnitude = select(size + offset, bitcast<vec2<u32>>(small), size < vec2<u32>(0x00800000u));
    return bitcast<vec2<f32>>(magnitude | sign);
}
