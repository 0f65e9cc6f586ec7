// Where the inputs' elements for one element of the result are.
struct Places {
    low: vec4<u32>,  // inputs 0–3
    high: vec4<u32>, // inputs 4 and 5
}

fn places(i: u32) -> Places {
    var at = Places();
    var rest = i;
    for (var axis = 0u; axis < params.rank; axis += 1u) {
        let low = params.axes[2u * axis];
        let high = params.axes[2u * axis + 1u];
        let coordinate = rest % high.z;
        // mutant (elementwise, elementwise_in_place): rest /= high.z; => rest /= high.z + 1u;
        rest /= high.z;
        at.low += coordinate * low;
        // mutant (elementwise): at.high += coordinate * high; => at.high += coordinate * low;
        at.high += coordinate * high;
    }
    return at;
}

fn place(at: Places, input: u32) -> u32 {
    if input < 4u {
        return at.low[input];
    }
    return at.high[input - 4u];
}

fn dtype_of(input: u32) -> u32 {
    return (DTYPES >> (4u * input)) & 15u;
}

fn access_of(input: u32) -> u32 {
    return (ACCESS >> (2u * input)) & 3u;
}

fn is_half(dtype: u32) -> bool {
    return dtype == F16 || dtype == BF16;
}

// Four elements from element `at` on, a multiple of 4.
fn quad(input: u32, at: u32) -> vec4<u32> {
    if !is_half(dtype_of(input)) {
        return words(input, at / 4u);
    }
    let unit = words(input, at / 8u);
    // mutant (elementwise): (at & 4u) == 4u => (at & 4u) == 8u
    let pair = select(unit.xy, unit.zw, (at & 4u) == 4u);
    return vec4<u32>(pair.x & 0xffffu, pair.x >> 16u, pair.y & 0xffffu, pair.y >> 16u);
}

fn element(input: u32, at: u32) -> u32 {
    if !is_half(dtype_of(input)) {
        return words(input, at / 4u)[at & 3u];
    }
    // mutant (elementwise): words(input, at / 8u)[(at / 2u) & 3u] => words(input, at / 8u)[at & 3u]
    let word = words(input, at / 8u)[(at / 2u) & 3u];
    return (word >> (16u * (at & 1u))) & 0xffffu;
}

// Bits of an input's elements for elements i … i + 3 of the result.
fn input_bits(input: u32, i: u32, at: array<Places, 4>) -> vec4<u32> {
    if access_of(input) == AS_OUTPUT {
        return quad(input, i);
    }
    let first = place(at[0], input);
    if access_of(input) == BY_ELEMENT {
        let others = vec3<u32>(place(at[1], input), place(at[2], input), place(at[3], input));
        return vec4<u32>(
            // mutant (elementwise): y), element(input, others.z => z), element(input, others.y
            element(input, first), element(input, others.x), element(input, others.y), element(input, others.z),
        );
    }
    let strides = Places(params.axes[0], params.axes[1]);
    // mutant (elementwise): if place(strides, input) == 0u { => if place(strides, input) == 4u {
    if place(strides, input) == 0u {
        return vec4<u32>(element(input, first));
    }
    return quad(input, first);
}

// Bits of all inputs, and their numeric values in `values`. Inputs that do not exist stay 0.
fn load_inputs(i: u32, first: u32) -> vec4<u32> {
    var at = array<Places, 4>();
    if ACCESS != 0u {
        at[0] = places(i);
        if (ACCESS & 0xaaau) != 0u {
            at[1] = places(i + 1u);
            at[2] = places(i + 2u);
            at[3] = places(i + 3u);
        }
    }
    var bits = vec4<u32>();
    if first == 0u {
        bits = input_bits(0u, i, at);
        values[0] = decode(dtype_of(0u), bits);
    }
    if INPUTS > 1u {
        values[1] = decode(dtype_of(1u), input_bits(1u, i, at));
    }
    if INPUTS > 2u {
        values[2] = decode(dtype_of(2u), input_bits(2u, i, at));
    }
    if INPUTS > 3u {
        values[3] = decode(dtype_of(3u), input_bits(3u, i, at));
    }
    if INPUTS > 4u {
        values[4] = decode(dtype_of(4u), input_bits(4u, i, at));
    }
    if INPUTS > 5u {
        values[5] = decode(dtype_of(5u), input_bits(5u, i, at));
    }
    return bits;
}
