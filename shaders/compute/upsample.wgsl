// y[r, i, j] = x[r, …] at the place in x that (i, j) has: its nearest element, or between its four neighbours
//
// One thread computes one element of y.

const WG_SIZE = 256u;

override KIND: u32;     // how x is stored: see stored.wgsl
override LINEAR: bool;  // else the nearest
override CORNERS: bool; // the first and the last elements lie on each other; else elements are areas

struct Params {
    len: u32,    // elements of y
    in_0: u32,   // rows of x
    in_1: u32,   // columns of x
    out_0: u32,  // rows of y
    out_1: u32,  // columns of y
    step_0: u32, // a step of one in y is step / steps in x, in lowest terms
    step_1: u32,
    steps_0: u32,
    steps_1: u32,
}

#import stored

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;       // [r, in_0, in_1]
@group(0) @binding(2) var<storage, read_write> y: array<f32>; // [r, out_0, out_1]

fn value(row: u32, column: u32) -> f32 {
    let i = row * params.in_1 + column;
    return stored_value(x[stored_word(i, KIND)], i, KIND);
}

// n · step / steps and what is left of it, exact: n · step may have more than 32 bits. steps is below 2^30.
fn divided(n: u32, step: u32, steps: u32) -> vec2<u32> {
    var quotient = 0u;
    var rest = 0u;
    // mutant: var bit = 32u - => var bit = 31u -
    for (var bit = 32u - countLeadingZeros(step); bit > 0u; bit--) {
        rest = 2u * rest + select(0u, n % steps, extractBits(step, bit - 1u, 1u) == 1u);
        quotient = 2u * quotient + rest / steps;
        rest %= steps;
    }
    return vec2<u32>(n / steps * step + quotient, rest);
}

struct Place {
    near: u32,  // the element of x at or before the place
    share: f32, // how far the place is on the way to the next
}

// Where place `at` of y lies along an axis of x.
fn place(at: u32, step: u32, steps: u32) -> Place {
    if !LINEAR || CORNERS {
        let found = divided(at, step, steps);
        return Place(found.x, f32(found.y) / f32(steps));
    }
    // The middle of the element, less half an element of x.
    let found = divided(2u * at + 1u, step, 2u * steps);
    // mutant: found.y < steps => false
    let before = found.y < steps;
    // mutant: before && found.x == 0u => false
    if before && found.x == 0u {
        return Place(0u, 0.0);
    }
    // mutant: select(found.y - steps, found.y + steps, before) => found.y
    let share = f32(select(found.y - steps, found.y + steps, before)) / f32(2u * steps);
    return Place(found.x - select(0u, 1u, before), share);
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: (group.y * groups.x + group.x) => group.x
    let i = (group.y * groups.x + group.x) * WG_SIZE + lane;
    if i >= params.len {
        return;
    }
    let row = i / params.out_1 % params.out_0;
    let column = i % params.out_1;
    let first = i / params.out_1 / params.out_0 * params.in_0;
    let of_row = place(row, params.step_0, params.steps_0);
    let of_column = place(column, params.step_1, params.steps_1);
    let near = vec2<u32>(of_row.near, of_column.near);
    if !LINEAR {
        y[i] = value(first + near.x, near.y);
        return;
    }
    let far = min(near + vec2<u32>(1u), vec2<u32>(params.in_0, params.in_1) - vec2<u32>(1u));
    let share = vec2<f32>(of_row.share, of_column.share);
    let top = mix(value(first + near.x, near.y), value(first + near.x, far.y), share.y);
    // mutant: value(first + far.x, far.y) => value(first + far.x, near.y)
    let bottom = mix(value(first + far.x, near.y), value(first + far.x, far.y), share.y);
    y[i] = mix(top, bottom, share.x);
}
