// The other half of an iteration: every column divided by its sum (Sinkhorn & Knopp 1967), in place; see sinkhorn_rows.
// One workgroup computes COLUMNS neighbouring columns of one matrix.

override WG_SIZE: u32 = 256;

struct Params {
    groups: u32,    // matrices · ⌈N / COLUMNS⌉
    n: u32,
    iteration: u32, // from 0
    tolerance: f32, // below 0: none
}

#import sinkhorn_share

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> flags: array<u32>;   // [matrices, 3], of sinkhorn_rows
@group(0) @binding(2) var<storage, read_write> y: array<f32>; // [matrices, N, N]

const COLUMNS: u32 = 32u;

var<workgroup> parts: array<f32, WG_SIZE>;

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let n = params.n;
    let tiles = (n + COLUMNS - 1u) / COLUMNS;
    // mutant: let g = group.y * groups.x + group.x; => let g = group.x;
    let g = group.y * groups.x + group.x;
    let m = min(g, params.groups - 1u) / tiles;
    let column = g % tiles * COLUMNS + thread % COLUMNS;
    let turn = params.iteration;
    // mutant: turn % 3u] == 0u => (turn + 1u) % 3u] == 0u
    // mutant: turn > 0u => turn > 2u
    let settled = params.tolerance >= 0.0 && turn > 0u && flags[3u * m + turn % 3u] == 0u;
    let inside = g < params.groups && column < n && !settled;
    let rows = select(0u, n, inside);
    // mutant: m * n * n + column => column
    let start = m * n * n + column;
    var part = 0.0;
    // mutant: COLUMNS; row => COLUMNS; row + WG_SIZE / COLUMNS
    for (var row = thread / COLUMNS; row < rows; row += WG_SIZE / COLUMNS) {
        part += y[start + row * n];
    }
    parts[thread] = part;
    workgroupBarrier();
    var sum = 0.0;
    for (var other = thread % COLUMNS; other < WG_SIZE; other += COLUMNS) {
        sum += parts[other];
    }
    for (var row = thread / COLUMNS; row < rows; row += WG_SIZE / COLUMNS) {
        y[start + row * n] = share(y[start + row * n], sum);
    }
}
