// y[t, i] = (x[t, i] - m) * weight[i] / sqrt(mean_j (x[t, j] - m)² + eps) + bias[i]
// RMS norm with m = 0 (Zhang & Sennrich 2019, arXiv 1910.07467), layer norm with CENTRED and m = mean_j x[t, j] (Ba,
// Kiros & Hinton 2016, arXiv 1607.06450). With ADD it is added to y SCALE times, as norms after a block do on its way
// back to the residual stream. One workgroup computes WIDTH values of one row; the grid's y axis counts the groups of a
// row that are normalised each by itself, with the same weight (heads) or with one of its own.

override WG_SIZE: u32 = 256;
override WIDTH: u32;
override EPS: f32;
override ADD: bool = false;      // to what y holds
override SCALE: f32 = 1.0;       // of what is added
override CENTRED: bool = false;  // layer norm
override WEIGHTED: bool = true;  // the factor is weight, else 1
override WEIGHT_BY_GROUP: bool = false; // each group has a weight of its own
override BIASED: bool = false;   // the summand is bias, else 0
override IN_PLACE: bool = false; // x is y's buffer: what is bound as x is not read
override X_STRIDE: u32;          // values from one row to the next
override X_OFFSET: u32 = 0u;     // value of a row where x starts
override Y_STRIDE: u32;
override Y_OFFSET: u32 = 0u;

struct Params {
    unused: u32,
}

#import reduce

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;            // [rows, X_STRIDE]
@group(0) @binding(2) var<storage, read> weight: array<f32>;       // [WIDTH] or [groups, WIDTH]
@group(0) @binding(3) var<storage, read> bias: array<f32>;         // [WIDTH]
@group(0) @binding(4) var<storage, read_write> y: array<f32>;      // [rows, Y_STRIDE]

fn load(group: vec3<u32>, i: u32) -> f32 {
    // mutant: X_OFFSET + group.y * WIDTH + i => X_OFFSET + i
    let at = group.x * X_STRIDE + X_OFFSET + group.y * WIDTH + i;
    if IN_PLACE {
        return y[at];
    }
    return x[at];
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    var mean = 0.0;
    if CENTRED {
        var sum = 0.0;
        for (var i = lane; i < WIDTH; i += WG_SIZE) {
            sum += load(group, i);
        }
        // mutant: workgroup_sum(sum, lane) / f32(WIDTH) => sum / f32(WIDTH)
        mean = workgroup_sum(sum, lane) / f32(WIDTH);
    }
    var squares = 0.0;
    for (var i = lane; i < WIDTH; i += WG_SIZE) {
        let value = load(group, i) - mean;
        squares += value * value;
    }
    // mutant: f32(WIDTH) + EPS => f32(WIDTH)
    // mutant: / f32(WIDTH) => / f32(WG_SIZE)
    let scale = inverseSqrt(workgroup_sum(squares, lane) / f32(WIDTH) + EPS);
    for (var i = lane; i < WIDTH; i += WG_SIZE) {
        // mutant: Y_OFFSET + group.y * WIDTH + i => Y_OFFSET + group.y + i
        let to = group.x * Y_STRIDE + Y_OFFSET + group.y * WIDTH + i;
        // mutant: select(0.0, y[to], ADD) => 0.0
        let before = select(0.0, y[to], ADD);
        var normed = (load(group, i) - mean) * scale;
        if WEIGHTED {
            // mutant: i + select => lane + select
            // mutant: group.y * WIDTH, WEIGHT_BY_GROUP => group.y, WEIGHT_BY_GROUP
            normed *= weight[i + select(0u, group.y * WIDTH, WEIGHT_BY_GROUP)];
        }
        if BIASED {
            // mutant: normed += bias[i]; => normed += bias[lane];
            normed += bias[i];
        }
        // mutant: SCALE * normed => normed
        y[to] = before + SCALE * normed;
    }
}
