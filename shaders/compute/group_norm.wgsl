// y[n, c, l] = (x[n, c, l] − mean) / √(variance + eps) · weight[c] + bias[c], with mean and variance over the channels
// of a group of sample n (Wu and He 2018, arXiv 1803.08494)
//
// One workgroup computes one group: the sum, the sum of squared distances from the mean, the result.

const WG_SIZE = 256u;

override KIND: u32;     // how x is stored: see stored.wgsl
override WEIGHT: bool;
override BIAS: bool;

struct Params {
    rows: u32,     // samples · groups
    groups: u32,   // of a sample
    channels: u32, // of a group
    length: u32,   // elements of a channel
    eps: f32,
}

#import stored
#import reduce

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;       // [rows, channels, length]
@group(0) @binding(2) var<storage, read> weight: array<f32>;  // [groups · channels]
@group(0) @binding(3) var<storage, read> bias: array<f32>;    // [groups · channels]
@group(0) @binding(4) var<storage, read_write> y: array<f32>; // as x

fn value(i: u32) -> f32 {
    return stored_value(x[stored_word(i, KIND)], i, KIND);
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: group.y * groups.x + group.x => group.x
    let row = group.y * groups.x + group.x;
    if row >= params.rows {
        return;
    }
    let width = params.channels * params.length;
    let start = row * width;
    var sum = 0.0;
    for (var i = lane; i < width; i += WG_SIZE) {
        sum += value(start + i);
    }
    let mean = workgroup_sum(sum, lane) / f32(width);
    var squares = 0.0;
    for (var i = lane; i < width; i += WG_SIZE) {
        let distance = value(start + i) - mean;
        // mutant: distance * distance => distance
        squares += distance * distance;
    }
    let scale = inverseSqrt(workgroup_sum(squares, lane) / f32(width) + params.eps);
    // mutant: row % params.groups => row
    let first = row % params.groups * params.channels;
    for (var i = lane; i < width; i += WG_SIZE) {
        // mutant: i / params.length => i % params.channels
        let channel = first + i / params.length;
        var result = (value(start + i) - mean) * scale;
        if WEIGHT { result *= weight[channel]; }
        if BIAS { result += bias[channel]; }
        y[start + i] = result;
    }
}
