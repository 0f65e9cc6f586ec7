// Inputs (0–5) and results of steps (8–23): every index is fixed with the pipeline, so that they
// stay in registers.
var<private> values: array<vec4<f32>, 24>;

fn argument(index: u32) -> vec4<f32> {
    if index < 24u {
        return values[index];
    }
    // mutant (elementwise): (index - 24u) / 4u => (index - 24u) / 8u
    return vec4<f32>(params.numbers[(index - 24u) / 4u][index & 3u]);
}

fn bool_override(condition: vec4<bool>) -> vec4<f32> {
    return select(vec4<f32>(), vec4<f32>(1.0), condition);
}

// The operations in the order of `Op`.
fn apply(op: u32, a: vec4<f32>, b: vec4<f32>, c: vec4<f32>) -> vec4<f32> {
    switch op {
        case 2u: { return -a; }
        case 3u: { return abs(a); }
        case 4u: { return exp(a); }
        case 5u: { return log(a); }
        case 6u: { return sqrt(a); }
        case 7u: { return inverseSqrt(a); }
        case 8u: { return sines(a, 0u); }
        case 9u: { return sines(a, 1u); }
        case 10u: { return bounded_tanh(a); }
        case 11u: { return sigmoid(a); }
        case 12u: { return max(a, vec4<f32>()); }
        case 13u: { return a * sigmoid(a); }
        case 14u: {
            // 1 + tanh(u) = 2 sigmoid(2u); beyond 20 the share is 0 or 1.
            // mutant (elementwise): vec4<f32>(-20.0), vec4<f32>(20.0) => vec4<f32>(-2.0), vec4<f32>(2.0)
            let x = clamp(a, vec4<f32>(-20.0), vec4<f32>(20.0));
            return a * sigmoid(1.59576912 * (x + 0.044715 * x * x * x));
        }
        case 15u: { return a * normal_below(a); }
        case 16u: { return a + b; }
        case 17u: { return a - b; }
        case 18u, 23u: { return a * b; }
        case 19u: { return a / b; }
        case 20u: { return min(a, b); }
        case 21u: { return max(a, b); }
        case 22u: { return power(a, b); }
        case 24u: { return bool_override(a == b); }
        case 25u: { return bool_override(a != b); }
        case 26u: { return bool_override(a < b); }
        // mutant (elementwise): <= => <
        case 27u: { return bool_override(a <= b); }
        case 28u: { return bool_override(a > b); }
        // mutant (elementwise): >= => >
        case 29u: { return bool_override(a >= b); }
        // mutant (elementwise): select(c, b, a != vec4<f32>()) => select(b, c, a != vec4<f32>())
        case 30u: { return select(c, b, a != vec4<f32>()); }
        default: { return a; }
    }
}

fn step_of(code: u32) -> vec4<f32> {
    let a = argument((code >> 8u) & 63u);
    let b = argument((code >> 14u) & 63u);
    // mutant (elementwise): (code >> 20u) & 63u => (code >> 14u) & 63u
    let c = argument((code >> 20u) & 63u);
    return apply(code & 255u, a, b, c);
}

// Zero for elements past the end, which share a vector with the last.
fn within(i: u32, bits: vec4<u32>) -> vec4<u32> {
    let at = vec4<u32>(i, i + 1u, i + 2u, i + 3u);
    // mutant (elementwise): at < vec4<u32>(params.len) => at <= vec4<u32>(params.len)
    return select(vec4<u32>(), bits, at < vec4<u32>(params.len));
}

// Four results from element i on; without a step and with one type on both sides the bits stay as they are.
fn finish(i: u32, bits: vec4<u32>) {
    let dtype = DTYPES >> 24u;
    if STEP0 == 0u && dtype == dtype_of(0u) {
        put(i, within(i, bits));
        return;
    }
    put(i, within(i, encode(dtype, run_steps())));
}
