// y[t, i] = activation(x[t, i]) · x[t, width + i]                    (Shazeer 2020, arXiv 2002.05202)
// One workgroup computes WG_SIZE values of one row. Decode does this inside mat_vec.

override WG_SIZE: u32 = 256;
override ACTIVATION: u32; // see activation.wgsl: 2 is SwiGLU, 3 GeGLU

struct Params {
    rows: u32,  // of x and y; rows of the grid past them do nothing
    width: u32, // columns of y
}

#import activation

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;       // [rows, 2 · width]: gate, then up
@group(0) @binding(2) var<storage, read_write> y: array<f32>; // [rows, width]

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = group.x * WG_SIZE + lane;
    // mutant: group.z * groups.y + group.y => group.y
    let row = group.z * groups.y + group.y;
    // mutant: i < params.width && row => i <= params.width && row
    if i < params.width && row < params.rows {
        // mutant: let gate = row * 2u * params.width + i; => let gate = row * params.width + i;
        let gate = row * 2u * params.width + i;
        y[row * params.width + i] = activate(x[gate]) * x[gate + params.width];
    }
}
