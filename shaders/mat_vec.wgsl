// y[r] = epilogue(Σ_c W[r, c] · x[c])                                one column: decode, and the head
// With NORM, x is RMS-normalised on the way: Σ_c W[r, c] · x[c] · norm_weight[c] / sqrt(mean x² + EPS).
//
// Threads work in teams of LANES. A team computes OUTPUTS rows: its threads take turns with the blocks of 32 columns,
// each keeps one sum per row, so that a block of x is loaded once for all rows, and the sums meet in workgroup
// memory. Needs no feature. mat_vec_subgroup gives the rows to subgroups.

override LANES: u32; // a power of two, at least OUTPUTS

override SCRATCH: u32 = WG_SIZE * (SLOTS + 1u);

#import mat_vec_rows

var<workgroup> scratch: array<f32, SCRATCH>; // [SLOTS sums and the squares, WG_SIZE]

// Adds up each team's sums into its first thread's.
fn reduce(sums: Sums, thread: u32, lane: u32) {
    for (var slot = 0u; slot < SLOTS; slot += 1u) {
        scratch[slot * WG_SIZE + thread] = sums.rows[slot];
    }
    scratch[SLOTS * WG_SIZE + thread] = sums.squares;
    workgroupBarrier();
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        if lane < half {
            for (var at = thread; at < SCRATCH; at += WG_SIZE) {
                scratch[at] += scratch[at + half];
            }
        }
        workgroupBarrier();
    }
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let team = (group.y * groups.x + group.x) * (WG_SIZE / LANES) + thread / LANES;
    let lane = thread % LANES;
    let first = team * OUTPUTS;
    reduce(sum_slots(first, lane, LANES), thread, lane);
    if lane < OUTPUTS {
        let start = thread - lane;
        let squares = scratch[SLOTS * WG_SIZE + start];
        if SWIGLU {
            let gate = scratch[2u * lane * WG_SIZE + start];
            write_row(first + lane, gate, scratch[(2u * lane + 1u) * WG_SIZE + start], squares);
        } else {
            write_row(first + lane, scratch[lane * WG_SIZE + start], 0.0, squares);
        }
    }
}
