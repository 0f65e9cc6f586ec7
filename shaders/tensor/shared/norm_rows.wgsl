// Norms over rows, for layer_norm and rms_norm_residual: the kernel's CENTRED says whether the mean is subtracted.
// LANES threads compute one row.

override WG_SIZE: u32 = 256;
override LANES: u32;

struct Params {
    rows: u32,
    width: u32,
    eps: f32,
    weight_offset: f32, // added to every weight
    flags: u32,         // which of the bindings are in use
}

const RESIDUAL: u32 = 1u;
const WEIGHT: u32 = 2u;
const BIAS: u32 = 4u;
const SUM: u32 = 8u;

#import lanes

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;         // [rows, width]
@group(0) @binding(2) var<storage, read> residual: array<f32>;  // [rows, width]
@group(0) @binding(3) var<storage, read> weight: array<f32>;    // [width]
@group(0) @binding(4) var<storage, read> bias: array<f32>;      // [width]
@group(0) @binding(5) var<storage, read_write> y: array<f32>;   // [rows, width]
@group(0) @binding(6) var<storage, read_write> sum: array<f32>; // [rows, width]: x + residual

fn flag(bit: u32) -> bool {
    return (params.flags & bit) != 0u;
}

fn load(at: u32) -> f32 {
    if flag(RESIDUAL) {
        // mutant (layer_norm, rms_norm_residual): return x[at] + residual[at]; => return x[at] - residual[at];
        return x[at] + residual[at];
    }
    return x[at];
}

// Weight and bias applied to the normalised value i of a row.
fn scaled(value: f32, i: u32) -> f32 {
    var scale = 1.0;
    var shift = 0.0;
    if flag(WEIGHT) {
        // mutant (layer_norm, rms_norm_residual): params.weight_offset + weight[i] => weight[i]
        scale = params.weight_offset + weight[i];
    }
    if flag(BIAS) {
        // mutant (layer_norm, rms_norm_residual): shift = bias[i]; => shift = bias[i] * scale;
        shift = bias[i];
    }
    return value * scale + shift;
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    // mutant (layer_norm, rms_norm_residual): (group.y * groups.x + group.x) => group.x
    let r = (group.y * groups.x + group.x) * (WG_SIZE / LANES) + thread / LANES;
    let start = r * params.width;
    let width = select(0u, params.width, r < params.rows);
    var mean = 0.0;
    if CENTRED {
        var part = 0.0;
        for (var i = thread % LANES; i < width; i += LANES) {
            part += load(start + i);
        }
        mean = lanes_sum(part, thread) / f32(params.width);
    }
    var squares = 0.0;
    for (var i = thread % LANES; i < width; i += LANES) {
        let value = load(start + i);
        squares += (value - mean) * (value - mean);
    }
    // mutant (layer_norm, rms_norm_residual): + params.eps =>
    let scale = inverseSqrt(lanes_sum(squares, thread) / f32(params.width) + params.eps);
    for (var i = thread % LANES; i < width; i += LANES) {
        let value = load(start + i);
        y[start + i] = scaled((value - mean) * scale, i);
        if flag(SUM) {
            // mutant (layer_norm, rms_norm_residual): sum[start + i] = value; => sum[start + i] = x[start + i];
            sum[start + i] = value;
        }
    }
}
