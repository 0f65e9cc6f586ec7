// Elements as bits, each in a word of its own, to and from f32.
const F32: u32 = 0u;
const F16: u32 = 1u;
const BF16: u32 = 2u;
const U32: u32 = 3u;
const I32: u32 = 4u;

fn decode(dtype: u32, bits: vec4<u32>) -> vec4<f32> {
    switch dtype {
        case F16: {
            // mutant (elementwise, elementwise_in_place): bits.z | (bits.w << 16u) => bits.w | (bits.z << 16u)
            let pairs = vec2<u32>(bits.x | (bits.y << 16u), bits.z | (bits.w << 16u));
            return vec4<f32>(unpack2x16float(pairs.x), unpack2x16float(pairs.y));
        }
        case BF16: { return bitcast<vec4<f32>>(bits << vec4<u32>(16u)); }
        case U32: { return vec4<f32>(bits); }
        // mutant (elementwise): vec4<f32>(bitcast<vec4<i32>>(bits)) => vec4<f32>(bits)
        case I32: { return vec4<f32>(bitcast<vec4<i32>>(bits)); }
        default: { return bitcast<vec4<f32>>(bits); }
    }
}

// f16 to the nearest; what is too large becomes infinite, which `pack2x16float` leaves open.
fn half_bits(x: vec4<f32>) -> vec4<u32> {
    let size = bitcast<vec4<u32>>(x) & vec4<u32>(0x7fffffffu);
    let sign = (bitcast<vec4<u32>>(x) >> vec4<u32>(16u)) & vec4<u32>(0x8000u);
    // mutant (elementwise): 0x477ff000u => 0x477fe000u
    let fits = size < vec4<u32>(0x477ff000u); // 65520
    let inside = select(vec4<f32>(), x, fits);
    let low = pack2x16float(inside.xy);
    let high = pack2x16float(inside.zw);
    let packed = vec4<u32>(low & 0xffffu, low >> 16u, high & 0xffffu, high >> 16u);
    // mutant (elementwise): size > vec4<u32>(0x7f800000u) => size >= vec4<u32>(0x7f800000u)
    let outside = sign | select(vec4<u32>(0x7c00u), vec4<u32>(0x7e00u), size > vec4<u32>(0x7f800000u));
    return select(outside, packed, fits);
}

// bf16 to the nearest, ties to even.
fn brain_bits(x: vec4<f32>) -> vec4<u32> {
    let bits = bitcast<vec4<u32>>(x);
    let upper = bits >> vec4<u32>(16u);
    // mutant (elementwise): (upper & vec4<u32>(1u)) => vec4<u32>(1u)
    let rounded = (bits + vec4<u32>(0x7fffu) + (upper & vec4<u32>(1u))) >> vec4<u32>(16u);
    let nan = (bits & vec4<u32>(0x7fffffffu)) > vec4<u32>(0x7f800000u);
    // GPUs differ in what they keep of a NaN's sign and payload: every NaN becomes the same one.
    // mutant (elementwise): return select(rounded, vec4<u32>(0x7fc0u), nan); => return rounded;
    return select(rounded, vec4<u32>(0x7fc0u), nan);
}

// To integers: the fraction is dropped, and values outside the range are clamped to it.
fn encode(dtype: u32, x: vec4<f32>) -> vec4<u32> {
    switch dtype {
        case F16: { return half_bits(x); }
        case BF16: { return brain_bits(x); }
        // mutant (elementwise): 4294967040.0 => 2147483520.0
        case U32: { return vec4<u32>(clamp(x, vec4<f32>(0.0), vec4<f32>(4294967040.0))); }
        case I32: {
            return bitcast<vec4<u32>>(vec4<i32>(clamp(x, vec4<f32>(-2147483648.0), vec4<f32>(2147483520.0))));
        }
        default: { return bitcast<vec4<u32>>(x); }
    }
}
