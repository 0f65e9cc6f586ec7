// y[t, i] = silu(x[t, i]) · x[t, WIDTH + i]                          (Shazeer 2020, arXiv 2002.05202)
// One workgroup computes WG_SIZE values of one token. Decode does this inside mat_vec.

override WG_SIZE: u32 = 256;
override WIDTH: u32; // of the feed-forward

struct Params {
    unused: u32,
}

#import silu

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;       // [tokens, 2 · WIDTH]: gate, then up
@group(0) @binding(2) var<storage, read_write> y: array<f32>; // [tokens, WIDTH]

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = group.x * WG_SIZE + lane;
    if i < WIDTH {
        let gate = group.y * 2u * WIDTH + i;
        y[group.y * WIDTH + i] = silu(x[gate]) * x[gate + WIDTH];
    }
}
