// y[t, i] = activation(gate[t, i]) · up[t, i]                        (Shazeer 2020, arXiv 2002.05202)
// One workgroup computes WG_SIZE values of one row. Decode does this inside mat_vec.

override WG_SIZE: u32 = 256;
override ACTIVATION: u32; // see activation.wgsl: 2 is SwiGLU, 3 GeGLU

struct Params {
    rows: u32,        // of gate, up and y; rows of the grid past them do nothing
    width: u32,       // columns of y
    gate_stride: u32, // values from one row to the next
    gate_at: u32,     // value of a row where the gate starts
    up_stride: u32,
    up_at: u32,
}

#import activation

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> gate: array<f32>;    // [rows, gate_stride]
@group(0) @binding(2) var<storage, read> up: array<f32>;      // [rows, up_stride]; may be the same buffer
@group(0) @binding(3) var<storage, read_write> y: array<f32>; // [rows, width]

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
        // mutant: row * params.gate_stride => row * params.width
        let gated = activate(gate[row * params.gate_stride + params.gate_at + i]);
        // mutant: row * params.up_stride + params.up_at => row * params.gate_stride + params.up_at
        y[row * params.width + i] = gated * up[row * params.up_stride + params.up_at + i];
    }
}
