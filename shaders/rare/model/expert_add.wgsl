// y[t, r] = Σ_s weights[t, s] · z[t, s, r], with ADD added to what y holds     after mat_mul_experts
// One workgroup computes WG_SIZE elements of a row of y.

override TOP: u32;      // experts of a token
override WIDTH: u32;    // columns of z and y
override Y_STRIDE: u32; // elements from one row of y to the next
override ADD: bool;

const WG_SIZE = 256u;

struct Params {
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> routes: array<u32>;   // [tokens, 2 · TOP]: ids, then bits of weights
@group(0) @binding(2) var<storage, read> z: array<f32>;        // [tokens, TOP, WIDTH]
@group(0) @binding(3) var<storage, read_write> y: array<f32>;  // [tokens, Y_STRIDE]

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let r = group.x * WG_SIZE + lane;
    let token = group.y;
    // mutant: if r >= WIDTH { => if r > WIDTH {
    if r >= WIDTH {
        return;
    }
    let at = token * Y_STRIDE + r;
    var sum = 0.0;
    if ADD {
        sum = y[at];
    }
    for (var s = 0u; s < TOP; s += 1u) {
        // mutant: token * 2u * TOP + TOP + s => token * 2u * TOP + TOP
        let weight = bitcast<f32>(routes[token * 2u * TOP + TOP + s]);
        // mutant: (token * TOP + s) * WIDTH + r => (token * TOP) * WIDTH + r
        sum += weight * z[(token * TOP + s) * WIDTH + r];
    }
    y[at] = sum;
}
