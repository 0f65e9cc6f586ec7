// y[t, i] = x[t, i] * weight[i] / sqrt(mean_j x[t, j]² + eps)        (Zhang & Sennrich 2019, arXiv 1910.07467)
// With ADD it is added to y, as norms after a block do on its way back to the residual stream.
// One workgroup computes one row t of WIDTH values.

override WG_SIZE: u32 = 256;
override WIDTH: u32;
override EPS: f32;
override ADD: bool = false; // to what y holds

struct Params {
    unused: u32,
}

#import reduce

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;            // [rows, WIDTH]
@group(0) @binding(2) var<storage, read> weight: array<f32>;       // [WIDTH]
@group(0) @binding(3) var<storage, read_write> y: array<f32>;      // [rows, WIDTH]

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let start = group.x * WIDTH;
    var squares = 0.0;
    for (var i = lane; i < WIDTH; i += WG_SIZE) {
        squares += x[start + i] * x[start + i];
    }
    // mutant: f32(WIDTH) + EPS => f32(WIDTH)
    // mutant: / f32(WIDTH) => / f32(WG_SIZE)
    let scale = inverseSqrt(workgroup_sum(squares, lane) / f32(WIDTH) + EPS);
    for (var i = lane; i < WIDTH; i += WG_SIZE) {
        // mutant: y[start + i], ADD => y[start + lane], ADD
        let before = select(0.0, y[start + i], ADD);
        // mutant: scale * weight[i] => scale * weight[lane]
        y[start + i] = before + x[start + i] * scale * weight[i];
    }
}
