// y[row, output + o] += factor · Σ_r b[o, r] t[r] with t[r] = scale of the row · Σ_i a[first + r, i] x[row, i], for
// each segment: lora_a and lora_b in one, for few rows, where a dispatch takes longer than to compute t again.
// One workgroup computes WG_SIZE values of a segment; the grid's z axis counts the segments. A row whose sequence has
// not the adapter at work is left as it is. A thread loads eight values before it uses the first of them: so few
// threads run that the kernel would spend most of its time on loads that wait for each other.

override WG_SIZE: u32 = 256;
override SLOTS: u32;               // adapters that a sequence has scales for
override OF_OUTPUTS: bool = false; // row 0 of y is the first of those with logits
override LANES: u32 = 16;          // threads that add up one value of t: a power of two, at most WG_SIZE / rank

struct Params {
    slot: u32,
    cols: u32, // columns of a: this and the next two are multiples of four
    x_stride: u32,
    x_offset: u32,
    y_stride: u32,
    factor: f32,
}

struct Segment {
    output: u32,  // value of a row of y where its results start
    outputs: u32, // rows of its b
    first: u32,   // its first row of a
    rank: u32,    // columns of its b, at most WG_SIZE
    at: u32,      // the first value of its b
}

#import pass
#import lane_sums

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> scales: array<vec2<u32>>; // [sequences, SLOTS]: bits of f32, first position
@group(0) @binding(3) var<storage, read> segments: array<Segment>;
@group(0) @binding(4) var<storage, read> a: array<vec4<f32>>;      // [ranks, cols]
@group(0) @binding(5) var<storage, read> b: array<f32>;            // [outputs, rank] of each segment
@group(0) @binding(6) var<storage, read> x: array<vec4<f32>>;      // [rows, x_stride]
@group(0) @binding(7) var<storage, read_write> y: array<f32>;      // [rows, y_stride]

var<workgroup> t: array<f32, WG_SIZE>;

// Products of quad i of a row of a and of x, 0 past the last.
fn products(a_row: u32, x_row: u32, i: u32, quads: u32) -> vec4<f32> {
    let at = min(i, quads - 1u);
    // mutant: i < quads => true
    return select(vec4<f32>(), a[a_row + at] * x[x_row + at], i < quads);
}

// Term r of the sum of an output whose row of b starts at `start`, 0 past the last.
fn term(start: u32, r: u32, rank: u32) -> f32 {
    let at = min(r, rank - 1u);
    // mutant: r < rank => true
    return select(0.0, b[start + at] * t[at], r < rank);
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    // mutant: this_pass.rows - this_pass.outputs => 0u
    let row = group.y + select(0u, this_pass.rows - this_pass.outputs, OF_OUTPUTS);
    let entry = this_pass.row[row];
    // mutant: entry.sequence * SLOTS => 0u
    let own = scales[entry.sequence * SLOTS + params.slot];
    // mutant: entry.position >= own.y => entry.position > own.y
    let scale = select(0.0, bitcast<f32>(own.x), entry.position >= own.y);
    let segment = segments[group.z];
    if scale == 0.0 || group.x * WG_SIZE >= segment.outputs {
        return;
    }
    let r = lane / LANES;
    let part = lane % LANES;
    var own_sum = 0.0;
    if r < segment.rank {
        let quads = params.cols / 4u;
        // mutant: segment.first + r => r
        let a_row = (segment.first + r) * quads;
        let x_row = (row * params.x_stride + params.x_offset) / 4u;
        var quad = vec4<f32>();
        for (var i = part; i < quads; i += 8u * LANES) {
            let first = products(a_row, x_row, i, quads) + products(a_row, x_row, i + LANES, quads);
            let second = products(a_row, x_row, i + 2u * LANES, quads) + products(a_row, x_row, i + 3u * LANES, quads);
            let third = products(a_row, x_row, i + 4u * LANES, quads) + products(a_row, x_row, i + 5u * LANES, quads);
            // mutant: i + 7u * LANES => i + 6u * LANES
            let last = products(a_row, x_row, i + 6u * LANES, quads) + products(a_row, x_row, i + 7u * LANES, quads);
            quad += (first + second) + (third + last);
        }
        own_sum = dot(quad, vec4<f32>(1.0));
    }
    sum_lanes(own_sum, lane);
    if part == 0u && r < segment.rank {
        t[r] = scale * sums[lane];
    }
    workgroupBarrier();
    let output = group.x * WG_SIZE + lane;
    if output < segment.outputs {
        // mutant: segment.at + output * segment.rank => output * segment.rank
        let start = segment.at + output * segment.rank;
        var sum = 0.0;
        for (var k = 0u; k < segment.rank; k += 8u) {
            let low = term(start, k, segment.rank) + term(start, k + 1u, segment.rank);
            let next = term(start, k + 2u, segment.rank) + term(start, k + 3u, segment.rank);
            let third = term(start, k + 4u, segment.rank) + term(start, k + 5u, segment.rank);
            sum += (low + next) + (third + (term(start, k + 6u, segment.rank) + term(start, k + 7u, segment.rank)));
        }
        y[group.y * params.y_stride + segment.output + output] += params.factor * sum;
    }
}
