// t[row, r] = scale of the row · Σ_i a[r, i] x[row, i], the first half of what an adapter adds to products of x (Hu et
// al. 2021, arXiv 2106.09685); with TABLE t[row, r] = scale · a[token of the row, r].
// One workgroup computes one value. A row whose sequence has not the adapter at work gives zeros and reads nothing.

override WG_SIZE: u32 = 128;
override SLOTS: u32;               // adapters that a sequence has scales for
override OF_OUTPUTS: bool = false; // row 0 is the first of those with logits
override TABLE: bool = false;

struct Params {
    slot: u32,
    ranks: u32, // rows of a
    cols: u32,  // columns of a
    x_stride: u32,
    x_offset: u32,
}

#import pass
#import reduce

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> scales: array<vec2<u32>>; // [sequences, SLOTS]: bits of f32, first position
@group(0) @binding(3) var<storage, read> a: array<f32>;            // [ranks, cols], or [rows of the table, ranks]
@group(0) @binding(4) var<storage, read> x: array<f32>;            // [rows, x_stride]
@group(0) @binding(5) var<storage, read_write> t: array<f32>;      // [rows, ranks]

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    // mutant: this_pass.rows - this_pass.outputs => 0u
    let row = group.y + select(0u, this_pass.rows - this_pass.outputs, OF_OUTPUTS);
    let entry = this_pass.row[row];
    // mutant: entry.sequence * SLOTS => 0u
    let own = scales[entry.sequence * SLOTS + params.slot];
    // mutant: entry.position >= own.y => entry.position > own.y
    let scale = select(0.0, bitcast<f32>(own.x), entry.position >= own.y);
    var sum = 0.0;
    if scale != 0.0 {
        if TABLE {
            // mutant: entry.token * params.ranks => group.y * params.ranks
            sum = select(0.0, a[entry.token * params.ranks + group.x], lane == 0u);
        } else {
            // mutant: i += WG_SIZE => i += 2u * WG_SIZE
            for (var i = lane; i < params.cols; i += WG_SIZE) {
                // mutant: params.x_offset + i => i
                sum += a[group.x * params.cols + i] * x[row * params.x_stride + params.x_offset + i];
            }
        }
    }
    let total = workgroup_sum(sum, lane);
    if lane == 0u {
        t[group.y * params.ranks + group.x] = scale * total;
    }
}
