// y[t, h, i] = x[t, h, i] · σ(gate[t, h, i]), after attention (Qiu et al. 2025, arXiv 2505.06708), or with NORMED
// y[t, h, i] = x[t, h, i] · weight[i] / √(mean_j x[t, h, j]² + EPS) · silu(gate[t, h, i]), after a gated delta rule
// (Yang et al. 2024, arXiv 2412.06464). One workgroup computes one head of one row.

override WG_SIZE: u32 = 64;
override WIDTH: u32; // of a head
override NORMED: bool;
override GATES: u32; // of a head: WIDTH, or 1 for all of its values
override EPS: f32;

struct Params {
    gate_at: u32,     // the first value of a row, and values from one row to the next
    gate_stride: u32,
}

#import reduce
#import silu

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;       // [rows, heads, WIDTH]
@group(0) @binding(2) var<storage, read> weight: array<f32>;  // [WIDTH]
@group(0) @binding(3) var<storage, read> gate: array<f32>;    // [rows, heads, GATES] by params
@group(0) @binding(4) var<storage, read_write> y: array<f32>; // [rows, heads, WIDTH]

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: groups.x + group.x => groups.y + group.x
    let start = (group.y * groups.x + group.x) * WIDTH;
    // mutant: params.gate_at + => 0u +
    // mutant: group.y * params.gate_stride => group.y * groups.x * WIDTH
    // mutant: group.x * GATES => group.x * WIDTH
    let of_gate = params.gate_at + group.y * params.gate_stride + group.x * GATES;
    var scale = 1.0;
    if NORMED {
        var squares = 0.0;
        for (var i = lane; i < WIDTH; i += WG_SIZE) {
            squares += x[start + i] * x[start + i];
        }
        // mutant: f32(WIDTH) + EPS => f32(WIDTH)
        scale = inverseSqrt(workgroup_sum(squares, lane) / f32(WIDTH) + EPS);
    }
    for (var i = lane; i < WIDTH; i += WG_SIZE) {
        // mutant: min(i, GATES - 1u) => i
        let value = gate[of_gate + min(i, GATES - 1u)];
        if NORMED {
            // mutant: weight[i] * silu => weight[lane] * silu
            y[start + i] = x[start + i] * scale * weight[i] * silu(value);
        } else {
            // mutant: max(value, -80.0) => max(value, 0.0)
            y[start + i] = x[start + i] / (1.0 + exp(-max(value, -80.0)));
        }
    }
}
