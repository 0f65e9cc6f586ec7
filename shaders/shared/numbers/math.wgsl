// Functions that WGSL lacks, or whose promised accuracy is too low. NaN results are made of bits: WGSL has no literal.

// 1/(2π) after 32 bits of zeros.
const INVERSE_TWO_PI = array<u32, 7>(
    0u, 0x28be60dbu, 0x9391054au, 0x7f09d5f4u, 0x7d4d3770u, 0x36d8a566u, 0x4f10e410u,
);

// The 32 bits of two words from bit `shift` (0–31) on, the highest being bit 0.
fn window(high: u32, low: u32, shift: u32) -> u32 {
    // mutant (elementwise): (low >> 1u) >> (31u - shift) => (low >> 1u) >> (32u - shift)
    return (high << shift) | ((low >> 1u) >> (31u - shift));
}

// The fraction of |x| / 2π (turns, without the whole ones) in units of 2^-32, for the bits of an |x| of at least 1/2:
// the product of its mantissa with the bits of 1/(2π) that matter (Payne and Hanek 1983), within a few units for every
// x.
fn turns(bits: u32) -> u32 {
    let mantissa = (bits & 0x7fffffu) | 0x800000u;
    // mutant (elementwise): (bits >> 23u) - 118u => (bits >> 23u) - 119u
    let at = (bits >> 23u) - 118u;
    let word = min(at >> 5u, 4u);
    let high = window(INVERSE_TWO_PI[word], INVERSE_TWO_PI[word + 1u], at & 31u);
    let low = window(INVERSE_TWO_PI[word + 1u], INVERSE_TWO_PI[word + 2u], at & 31u);
    let upper = (mantissa >> 16u) * (low >> 16u) + (((mantissa >> 16u) * (low & 0xffffu)) >> 16u);
    return mantissa * high + upper + (((mantissa & 0xffffu) * (low >> 16u)) >> 16u);
}

// sin(x + quarters · π/2) within 1e-7: WGSL promises 2^-11. The nearest quarter turn is subtracted in integers;
// Taylor series give the rest, at most an eighth of a turn.
fn sine(x: f32, quarters: u32) -> f32 {
    let bits = bitcast<u32>(x) & 0x7fffffffu;
    var rest = x;
    var quarter = quarters;
    if bits >= 0x3f490fdbu { // π/4
        let fraction = turns(bits);
        let nearest = (fraction + 0x20000000u) >> 30u;
        let angle = f32(bitcast<i32>(fraction - (nearest << 30u))) * (6.28318531 * 0x1p-32);
        rest = select(angle, -angle, x < 0.0);
        // mutant (elementwise): 4u - nearest, x < 0.0 => nearest, x < 0.0
        quarter += select(nearest, 4u - nearest, x < 0.0);
    }
    let s = rest * rest;
    let sin_rest = rest * (1.0 - s * (1.0 / 6.0 - s * (1.0 / 120.0 - s * (1.0 / 5040.0 - s / 362880.0))));
    let cos_rest = 1.0 - s * (0.5 - s * (1.0 / 24.0 - s * (1.0 / 720.0 - s / 40320.0)));
    let value = select(sin_rest, cos_rest, (quarter & 1u) == 1u);
    // mutant (elementwise): (quarter & 2u) == 2u => (quarter & 2u) == 3u
    let finite = select(value, -value, (quarter & 2u) == 2u);
    return bitcast<f32>(bitcast<u32>(finite) | select(0u, 0x7fc00000u, bits >= 0x7f800000u));
}

fn sines(x: vec4<f32>, quarters: u32) -> vec4<f32> {
    return vec4<f32>(sine(x.x, quarters), sine(x.y, quarters), sine(x.z, quarters), sine(x.w, quarters));
}

// 1 / (1 + e^-x), without an exponential that could overflow.
fn sigmoid(x: vec4<f32>) -> vec4<f32> {
    // mutant (elementwise): vec4<f32>(87.0) => vec4<f32>(8.0)
    let e = exp(-min(abs(x), vec4<f32>(87.0)));
    return select(vec4<f32>(1.0), e, x < vec4<f32>()) / (1.0 + e);
}

// tanh x: from the exponential, near 0 by its Taylor series. WGSL's own may overflow.
fn bounded_tanh(x: vec4<f32>) -> vec4<f32> {
    // mutant (elementwise): min(abs(x), vec4<f32>(10.0)) => min(abs(x), vec4<f32>(5.0))
    let size = min(abs(x), vec4<f32>(10.0));
    let far = 1.0 - 2.0 / (exp(2.0 * size) + 1.0);
    let s = size * size;
    let near = size * (1.0 - s * (1.0 / 3.0 - s * (2.0 / 15.0 - s * (17.0 / 315.0 - s * (62.0 / 2835.0)))));
    let value = select(far, near, size < vec4<f32>(0.3));
    return select(value, -value, x < vec4<f32>());
}

// The share of the standard normal distribution below x: (1 + erf(x/√2)) / 2, within 1e-7
// (Abramowitz and Stegun 1964, 7.1.26).
fn normal_below(x: vec4<f32>) -> vec4<f32> {
    let z = min(abs(x) * 0.707106781, vec4<f32>(9.0));
    let t = 1.0 / (1.0 + 0.3275911 * z);
    let p = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    let tail = 0.5 * p * exp(-z * z);
    // mutant (elementwise): return select(1.0 - tail, tail, x < vec4<f32>()); => return 1.0 - tail;
    return select(1.0 - tail, tail, x < vec4<f32>());
}

// x^y. WGSL leaves negative x undefined.
fn power(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
    let zero = vec4<f32>();
    let size = exp2(y * log2(max(abs(x), vec4<f32>(1.2e-38))));
    let positive = select(select(size, abs(x), y == vec4<f32>(1.0)), x * x, y == vec4<f32>(2.0));
    let whole = floor(y) == y;
    // mutant (elementwise): let odd = whole & (fract(0.5 * y) != zero); => let odd = whole;
    let odd = whole & (fract(0.5 * y) != zero);
    let signed = select(positive, -positive, odd & (x < zero));
    // mutant (elementwise): let nan = !whole & (x < zero); => let nan = x < zero;
    let nan = !whole & (x < zero);
    let value = bitcast<vec4<f32>>(bitcast<vec4<u32>>(signed) | select(vec4<u32>(), vec4<u32>(0x7fc00000u), nan));
    // mutant (elementwise): vec4<f32>(1.0), y == zero) => vec4<f32>(0.0), y == zero)
    let at_zero = select(select(zero, 1.0 / abs(x), y < zero), vec4<f32>(1.0), y == zero);
    return select(value, at_zero, x == zero);
}
