// y[r, i, j] = x[r, …] at the place in x that (i, j) has: its nearest element, or between its four neighbours
//
// One thread computes one element of y.

const WG_SIZE = 256u;

override KIND: u32;     // how x is stored: see stored.wgsl
override LINEAR: bool;  // else the nearest
override CORNERS: bool; // the first and the last elements lie on each other; else elements are areas

struct Params {
    len: u32,   // elements of y
    in_0: u32,  // rows of x
    in_1: u32,  // columns of x
    out_0: u32, // rows of y
    out_1: u32, // columns of y
}

#import stored

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;       // [r, in_0, in_1]
@group(0) @binding(2) var<storage, read_write> y: array<f32>; // [r, out_0, out_1]

fn value(row: u32, column: u32) -> f32 {
    let i = row * params.in_1 + column;
    return stored_value(x[stored_word(i, KIND)], i, KIND);
}

// Where place `at` of y lies along an axis of x.
fn place(at: u32, of_x: u32, of_y: u32) -> f32 {
    if CORNERS {
        // mutant: f32(max(of_y, 2u) - 1u) => f32(of_y)
        return f32(at) * f32(of_x - 1u) / f32(max(of_y, 2u) - 1u);
    }
    // mutant: - 0.5, 0.0, => , 0.0,
    return clamp((f32(at) + 0.5) * f32(of_x) / f32(of_y) - 0.5, 0.0, f32(of_x - 1u));
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
    if !LINEAR {
        // mutant: row * params.in_0 / params.out_0 => row * params.out_0 / params.in_0 % params.in_0
        y[i] = value(first + row * params.in_0 / params.out_0, column * params.in_1 / params.out_1);
        return;
    }
    let at = vec2<f32>(place(row, params.in_0, params.out_0), place(column, params.in_1, params.out_1));
    let near = vec2<u32>(at);
    let far = min(near + vec2<u32>(1u), vec2<u32>(params.in_0, params.in_1) - vec2<u32>(1u));
    let share = at - vec2<f32>(near);
    let top = mix(value(first + near.x, near.y), value(first + near.x, far.y), share.y);
    // mutant: value(first + far.x, far.y) => value(first + far.x, near.y)
    let bottom = mix(value(first + far.x, near.y), value(first + far.x, far.y), share.y);
    y[i] = mix(top, bottom, share.x);
}
