// x = max(x − m − DEVIATIONS · √(Σ (x − m)² / (WIDTH − 1)), 0)  with m = Σ x / WIDTH; or where DEVIATIONS is 0
// x = x · √(Σ of² / Σ x²)                                       the length of `of`; or where DEVIATIONS is below 0
// x = x / √(Σ (x − m)² / (WIDTH − 1) − DEVIATIONS)              minus the epsilon; or where it is -1
// x = exp x / Σ exp x
//
// One workgroup computes WIDTH values of one row; the grid's y axis counts the parts of a row.

override WG_SIZE: u32 = 256;
override WIDTH: u32;
override DEVIATIONS: f32;
override X_STRIDE: u32; // values from one row to the next
override X_AT: u32;     // value of a row where x starts

struct Params {
    unused: u32,
}

#import reduce

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> length_of: array<f32>; // [rows, WIDTH]
@group(0) @binding(2) var<storage, read_write> x: array<f32>;   // [rows, X_STRIDE]

var<workgroup> highest: array<f32, WG_SIZE>;

// x = exp x / Σ exp x, of values from `first` on.
fn share(first: u32, lane: u32) {
    var own = -3.0e38;
    for (var i = lane; i < WIDTH; i += WG_SIZE) {
        own = max(own, x[first + i]);
    }
    highest[lane] = own;
    workgroupBarrier();
    for (var half = WG_SIZE / 2u; half > 0u; half /= 2u) {
        if lane < half {
            highest[lane] = max(highest[lane], highest[lane + half]);
        }
        workgroupBarrier();
    }
    // mutant: let most = highest[0]; => let most = 0.0;
    let most = highest[0];
    var sum = 0.0;
    for (var i = lane; i < WIDTH; i += WG_SIZE) {
        sum += exp(x[first + i] - most);
    }
    sum = workgroup_sum(sum, lane);
    for (var i = lane; i < WIDTH; i += WG_SIZE) {
        // mutant: / sum => * sum
        x[first + i] = exp(x[first + i] - most) / sum;
    }
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let is_cut = DEVIATIONS > 0.0;
    let is_centred = DEVIATIONS != 0.0;
    // mutant: X_AT + group.y * WIDTH => X_AT + group.y
    let first = group.x * X_STRIDE + X_AT + group.y * WIDTH;
    if DEVIATIONS == -1.0 {
        share(first, lane);
        return;
    }
    var sum = 0.0;
    for (var i = lane; i < WIDTH; i += WG_SIZE) {
        if is_centred {
            sum += x[first + i];
        } else {
            let value = length_of[group.x * WIDTH + i];
            sum += value * value;
        }
    }
    sum = workgroup_sum(sum, lane);
    let mean = select(0.0, sum / f32(WIDTH), is_centred);
    var squares = 0.0;
    for (var i = lane; i < WIDTH; i += WG_SIZE) {
        let value = x[first + i] - mean;
        squares += value * value;
    }
    squares = workgroup_sum(squares, lane);
    // mutant: f32(WIDTH - 1u) => f32(WIDTH)
    let variance = squares / f32(WIDTH - 1u);
    let cut = mean + DEVIATIONS * sqrt(variance);
    // mutant: variance - DEVIATIONS => variance
    // mutant: sum / squares => sum
    let factor = select(sqrt(sum / squares), inverseSqrt(variance - DEVIATIONS), is_centred);
    for (var i = lane; i < WIDTH; i += WG_SIZE) {
        let value = x[first + i];
        // mutant: max(value - cut, 0.0) => value - cut
        x[first + i] = select(value * factor, max(value - cut, 0.0), is_cut);
    }
}
