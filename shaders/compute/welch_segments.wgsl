// y[s, i] = (x[row, start + i] − trend(i)) · window[i]          segments of signals, for `welch`
//
// Segments of a row begin `step` elements apart. The trend is the mean of a segment, or its least-squares line; the
// mean is taken twice, the second time of what the first one left, so that a large offset costs no digits. One
// workgroup makes one segment.

const WG_SIZE = 256u;

override KIND: u32;    // how x is stored: see stored.wgsl
override DETREND: u32; // 0 nothing, 1 the mean, 2 a line

struct Params {
    segments: u32, // of all rows
    per_row: u32,
    of_x: u32,     // elements of a row
    step: u32,
    length: u32,   // of a segment
    squares: f32,  // Σ (i − middle)² over a segment
}

#import stored
#import reduce

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;       // [rows, of_x]
@group(0) @binding(2) var<storage, read> window: array<f32>;  // [length]
@group(0) @binding(3) var<storage, read_write> y: array<f32>; // [segments, length]

fn value(i: u32) -> f32 {
    return stored_value(x[stored_word(i, KIND)], i, KIND);
}

// The mean of the segment's elements less `offset`.
fn mean_beside(offset: f32, start: u32, lane: u32) -> f32 {
    var sum = 0.0;
    for (var i = lane; i < params.length; i += WG_SIZE) {
        sum += value(start + i) - offset;
    }
    return workgroup_sum(sum, lane) / f32(params.length);
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: group.y * groups.x + group.x => group.x
    let segment = group.y * groups.x + group.x;
    if segment >= params.segments {
        return;
    }
    // mutant: segment % params.per_row * params.step => segment % params.per_row * params.length
    let start = segment / params.per_row * params.of_x + segment % params.per_row * params.step;
    let middle = f32(params.length - 1u) * 0.5;
    var mean = 0.0;
    var rest = 0.0;
    var slope = 0.0;
    if DETREND != 0u {
        mean = mean_beside(0.0, start, lane);
        rest = mean_beside(mean, start, lane);
    }
    if DETREND == 2u {
        var sum = 0.0;
        for (var i = lane; i < params.length; i += WG_SIZE) {
            sum += (f32(i) - middle) * (value(start + i) - mean - rest);
        }
        // mutant: / params.squares => / f32(params.length)
        slope = workgroup_sum(sum, lane) / params.squares;
    }
    for (var i = lane; i < params.length; i += WG_SIZE) {
        // mutant: slope * (f32(i) - middle) => slope * f32(i)
        let detrended = value(start + i) - mean - rest - slope * (f32(i) - middle);
        y[segment * params.length + i] = detrended * window[i];
    }
}
