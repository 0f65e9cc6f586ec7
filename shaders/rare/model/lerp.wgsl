// y[r, i] = x[r, i] + (to[r, i] - x[r, i]) * (share[i] + by[r, i])          x on its way to another activation
// share and by may be missing, not both. One thread computes one value.

override WG_SIZE: u32 = 64;
override WIDTH: u32;
override SHARED: bool;    // with share
override BY_STRIDE: u32;  // values from one row of by to the next; 0 without it
override BY_AT: u32;      // value of a row where by starts

struct Params {
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;       // [rows, WIDTH]
@group(0) @binding(2) var<storage, read> to: array<f32>;      // [rows, WIDTH]
@group(0) @binding(3) var<storage, read> share: array<f32>;   // [WIDTH]
@group(0) @binding(4) var<storage, read> by: array<f32>;      // [rows, BY_STRIDE]
@group(0) @binding(5) var<storage, read_write> y: array<f32>; // [rows, WIDTH]

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = group.x * WG_SIZE + lane;
    // mutant: i >= WIDTH => i > WIDTH
    if i >= WIDTH {
        return;
    }
    var part = 0.0;
    if SHARED {
        part = share[i];
    }
    if BY_STRIDE > 0u {
        // mutant: BY_AT + i => i
        part += by[group.y * BY_STRIDE + BY_AT + i];
    }
    let at = group.y * WIDTH + i;
    // mutant: x[at] + (to => (to
    y[at] = x[at] + (to[at] - x[at]) * part;
}
