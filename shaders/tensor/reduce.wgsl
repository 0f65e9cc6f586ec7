// y[a, p, c] = sum, product, largest or smallest of x[a, i, c] over part p of the axis:
// p · chunk <= i < min((p + 1) · chunk, length)
// Two dispatches reduce a long axis: parts first, then over the parts. LANES threads compute one value of y. One
// thread per value is for columns: neighbouring threads then read neighbouring elements. What becomes of NaN is up to
// the device.

override WG_SIZE: u32 = 256;
override LANES: u32;
override OPERATION: u32; // 0 sum, 1 product, 2 largest, 3 smallest

struct Params {
    outputs: u32,  // outer · parts · inner
    length: u32,
    inner: u32,
    parts: u32,
    chunk: u32,
    identity: f32, // 0, 1, -inf or inf, which WGSL has no literal for
    divisor: f32,  // of the result: the length for a mean
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;       // [outer, length, inner]
@group(0) @binding(2) var<storage, read_write> y: array<f32>; // [outer, parts, inner]

var<workgroup> scratch: array<f32, WG_SIZE>;

fn combine(a: f32, b: f32) -> f32 {
    switch OPERATION {
        case 0u: { return a + b; }
        case 1u: { return a * b; }
        case 2u: { return max(a, b); }
        default: { return min(a, b); }
    }
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    // mutant: (group.y * groups.x + group.x) => group.x
    let output = (group.y * groups.x + group.x) * (WG_SIZE / LANES) + thread / LANES;
    let lane = thread % LANES;
    // mutant: output / params.inner % params.parts => output / params.inner
    let part = output / params.inner % params.parts;
    let outer = output / params.inner / params.parts;
    let start = outer * params.length * params.inner + output % params.inner;
    // mutant: min(params.length, (part + 1u) * params.chunk) => (part + 1u) * params.chunk
    let end = select(0u, min(params.length, (part + 1u) * params.chunk), output < params.outputs);
    // mutant: var value = params.identity; => var value = 0.0;
    var value = params.identity;
    for (var i = part * params.chunk + lane; i < end; i += LANES) {
        value = combine(value, x[start + i * params.inner]);
    }
    if LANES > 1u {
        scratch[thread] = value;
        workgroupBarrier();
        for (var half = LANES / 2u; half > 0u; half /= 2u) {
            if lane < half {
                scratch[thread] = combine(scratch[thread], scratch[thread + half]);
            }
            workgroupBarrier();
        }
        value = scratch[thread];
    }
    if lane == 0u && output < params.outputs {
        let total = value;
        // mutant: total / params.divisor, params.divisor > 1.0 => total / params.divisor, params.divisor > 100.0
        y[output] = select(total, total / params.divisor, params.divisor > 1.0);
    }
}
