// Half an iteration for matrices of any size: every row divided by its sum (Sinkhorn & Knopp 1967). One workgroup
// computes one row; sinkhorn_columns follows. With a tolerance, a matrix whose rows all sum to 1 within it is left as
// it is from then on: three flags per matrix, used in rotation, say whether a row was off in this iteration and in the
// one before.

override WG_SIZE: u32 = 64;
override LANES: u32; // WG_SIZE

struct Params {
    groups: u32,    // matrices · N
    n: u32,
    iteration: u32, // from 0
    tolerance: f32, // below 0: none
}

#import lanes
#import sinkhorn_share

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;                  // [matrices, N, N], read in iteration 0
@group(0) @binding(2) var<storage, read_write> y: array<f32>;            // [matrices, N, N]
@group(0) @binding(3) var<storage, read_write> flags: array<atomic<u32>>; // [matrices, 3]

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: let row = group.y * groups.x + group.x; => let row = group.x;
    let row = group.y * groups.x + group.x;
    // mutant: min(row, params.groups - 1u) / params.n => row % params.n
    let m = min(row, params.groups - 1u) / params.n;
    let turn = params.iteration;
    // mutant: (turn + 2u) % 3u => turn % 3u
    let before = atomicLoad(&flags[3u * m + (turn + 2u) % 3u]);
    let settled = params.tolerance >= 0.0 && turn > 1u && before == 0u;
    let count = select(params.n, 0u, settled || row >= params.groups);
    let start = row * params.n;
    var part = 0.0;
    for (var i = lane; i < count; i += WG_SIZE) {
        if turn == 0u {
            y[start + i] = x[start + i];
        }
        part += y[start + i];
    }
    let sum = lanes_sum(part, lane);
    for (var i = lane; i < count; i += WG_SIZE) {
        y[start + i] = share(y[start + i], sum);
    }
    if lane == 0u && count > 0u && is_off(sum, params.tolerance) {
        atomicStore(&flags[3u * m + turn % 3u], 1u);
    }
    // mutant: row % params.n == 0u => row == 0u
    if lane == 0u && row < params.groups && row % params.n == 0u {
        atomicStore(&flags[3u * m + (turn + 1u) % 3u], 0u);
    }
}
