// y[s] = the mean of the rows of input s, or its first row, or its last: one vector for each input of a pass.
// One workgroup computes WG_SIZE columns of one input.

override WG_SIZE: u32 = 64;
override WIDTH: u32;
override KIND: u32; // 0: mean, 1: first, 2: last

struct Params {
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> inputs: array<vec2<u32>>; // first row of an input, one past its last
@group(0) @binding(2) var<storage, read> x: array<f32>;            // [rows, WIDTH]
@group(0) @binding(3) var<storage, read_write> y: array<f32>;      // [inputs, WIDTH]

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let column = group.x * WG_SIZE + lane;
    let input = inputs[group.y];
    if column >= WIDTH {
        return;
    }
    // mutant: select(input.x, input.y - 1u, KIND == 2u) => input.x
    let first = select(input.x, input.y - 1u, KIND == 2u);
    // mutant: select(first + 1u, input.y, KIND == 0u) => first + 1u
    let end = select(first + 1u, input.y, KIND == 0u);
    var sum = 0.0;
    for (var row = first; row < end; row++) {
        sum += x[row * WIDTH + column];
    }
    // mutant: f32(end - first) => f32(end)
    y[group.y * WIDTH + column] = sum / f32(end - first);
}
