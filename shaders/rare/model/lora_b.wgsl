// y[row, output + o] += factor · Σ_r b[o, r] t[row, first + r] for each segment: the second half of what an adapter
// adds to products of one x, whose results lie side by side in the rows of y; or what a control vector adds to them.
// One thread computes one value; the grid's z axis counts the segments. A row whose sequence has not the adapter at
// work is left as it is.

override WG_SIZE: u32 = 64;
override SLOTS: u32;               // adapters that a sequence has scales for
override OF_OUTPUTS: bool = false; // row 0 is the first of those with logits
override DIRECTION: bool = false;  // t is the scale of the row: a control vector, with b of rank 1

struct Params {
    slot: u32,
    ranks: u32, // values of a row of t
    y_stride: u32,
    factor: f32,
}

struct Segment {
    output: u32,  // value of a row of y where its results start
    outputs: u32, // rows of its b
    first: u32,   // its first value in a row of t
    rank: u32,    // columns of its b
    at: u32,      // the first value of its b
}

#import pass

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> scales: array<vec2<u32>>;  // [sequences, SLOTS]: bits of f32, first position
@group(0) @binding(3) var<storage, read> segments: array<Segment>;
@group(0) @binding(4) var<storage, read> b: array<f32>;             // [outputs, rank] of each segment
@group(0) @binding(5) var<storage, read> t: array<f32>;             // [rows, ranks]
@group(0) @binding(6) var<storage, read_write> y: array<f32>;       // [rows, y_stride]

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let entry = this_pass.row[group.y + select(0u, this_pass.rows - this_pass.outputs, OF_OUTPUTS)];
    let own = scales[entry.sequence * SLOTS + params.slot];
    let segment = segments[group.z];
    let output = group.x * WG_SIZE + lane;
    // mutant: output >= segment.outputs => output > segment.outputs
    if output >= segment.outputs || bitcast<f32>(own.x) == 0.0 || entry.position < own.y {
        return;
    }
    var sum = 0.0;
    for (var r = 0u; r < segment.rank; r += 1u) {
        // mutant: segment.first + r => r
        // mutant: bitcast<f32>(own.x), DIRECTION => bitcast<f32>(own.x), false
        let t_of = select(t[group.y * params.ranks + segment.first + r], bitcast<f32>(own.x), DIRECTION);
        sum += b[segment.at + output * segment.rank + r] * t_of;
    }
    // mutant: segment.output + output => output
    // mutant: params.factor * sum => sum
    y[group.y * params.y_stride + segment.output + output] += params.factor * sum;
}
