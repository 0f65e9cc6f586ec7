// y[z, i, j] = activation(Σ_c a[z, i, c] · b[z, c, j] + bias[j]) + residual[z, i, j]          few rows
//
// The topology for products that read all of b for a few rows. One workgroup computes ROWS rows by COLS columns
// straight from the buffers: PARTS threads share a column, each taking every PARTS-th c for four sums, which are then
// added up in workgroup memory. Neighbouring threads follow the contiguous dimension of b.

const ROWS = 4u;
const COLS = 16u;
const PARTS = 16u;
const WG_SIZE = COLS * PARTS;

#import dense

var<workgroup> sums: array<vec4<f32>, WG_SIZE>; // [PARTS, COLS], of four rows

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let columns = (params.n + COLS - 1u) / COLS;
    let tiles = columns * ((params.m + ROWS - 1u) / ROWS);
    // mutant: let index = group.y * groups.x + group.x; => let index = group.x;
    let index = group.y * groups.x + group.x;
    let z = index / tiles;
    if z >= params.batches {
        return;
    }
    // mutant: index % tiles / columns * ROWS => index / columns * ROWS
    let row = index % tiles / columns * ROWS;
    let first = index % columns * COLS;
    let along_k = params.b_k == 1u;
    // mutant: thread / PARTS, along_k => thread % COLS, along_k
    let local = select(thread % COLS, thread / PARTS, along_k);
    let part = select(thread / COLS, thread % PARTS, along_k);
    let start = starts(z);
    // Rows and columns past the end repeat the last: they are never written.
    let rows = min(vec4<u32>(row) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(params.m - 1u));
    let from_b = start.y + min(first + local, params.n - 1u) * params.b_n;
    var sum = vec4<f32>();
    // mutant: c < params.k; c += PARTS => c + 1u < params.k; c += PARTS
    for (var c = part; c < params.k; c += PARTS) {
        let at = start.x + rows * params.a_m + c * params.a_k;
        sum += vec4<f32>(load_a(at.x), load_a(at.y), load_a(at.z), load_a(at.w)) * load_b(from_b + c * params.b_k);
    }
    sums[part * COLS + local] = sum;
    workgroupBarrier();
    for (var half = PARTS / 2u; half > 0u; half /= 2u) {
        if thread < half * COLS {
            sums[thread] += sums[thread + half * COLS];
        }
        workgroupBarrier();
    }
    if thread < ROWS * COLS {
        write_one(z, row + thread / COLS, first + thread % COLS, sums[thread % COLS][thread / COLS]);
    }
}
