// y[r] (+)= Σ_t weight[t] · x[index[t]], each of PARTS parts of a row of y with TAPS taps of its own: interpolation of
// tables, means of rows, rows side by side; with DENSE products with a matrix [TAPS, width]; with CHANNELS a depthwise
// convolution, where the columns of each tap have weights of their own, too.
// One workgroup computes WG_SIZE columns of one row.

override WG_SIZE: u32 = 64;
override TAPS: u32;
override PARTS: u32;
override DENSE: bool;    // t itself is the index
override BY_VALUE: bool; // values of the parts take turns, else the parts follow each other
override CHANNELS: bool;

struct Params {
    width: u32, // of x
    mode: u32,  // 1: added to what y has; 2: only rows with a tap of another weight than 0 are written
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> indices: array<u32>;  // [rows, PARTS, TAPS]
@group(0) @binding(2) var<storage, read> weights: array<f32>;  // [rows, PARTS, TAPS]; a tap of weight 0 reads nothing
@group(0) @binding(3) var<storage, read> x: array<f32>;        // [any, width]
@group(0) @binding(4) var<storage, read> kernel: array<f32>;   // [width, TAPS] with CHANNELS
@group(0) @binding(5) var<storage, read_write> y: array<f32>;  // [rows, PARTS · width]

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let column = group.x * WG_SIZE + lane;
    // mutant: params.width * PARTS => params.width * PARTS + 1u
    if column >= params.width * PARTS {
        return;
    }
    // mutant: select(column / params.width, column % PARTS, BY_VALUE) => column / params.width
    let part = select(column / params.width, column % PARTS, BY_VALUE);
    let value = select(column % params.width, column / PARTS, BY_VALUE);
    let first = (group.y * PARTS + part) * TAPS;
    var sum = 0.0;
    var is_read = false;
    for (var t = 0u; t < TAPS; t++) {
        let weight = weights[first + t];
        // mutant: if weight != 0.0 => if true
        if weight != 0.0 {
            is_read = true;
            let row = select(indices[first + t], t, DENSE);
            var of_channel = 1.0;
            // mutant: if CHANNELS => if false
            if CHANNELS {
                of_channel = kernel[value * TAPS + t];
            }
            sum += weight * x[row * params.width + value] * of_channel;
        }
    }
    let at = group.y * params.width * PARTS + column;
    // mutant: params.mode != 2u || is_read => true
    if params.mode != 2u || is_read {
        // mutant: params.mode == 1u => params.mode == 0u
        y[at] = select(sum, sum + y[at], params.mode == 1u);
    }
}
