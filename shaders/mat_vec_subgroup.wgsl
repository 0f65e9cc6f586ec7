// y[r] = epilogue(Σ_c W[r, c] · x[c])                                one column: decode, and the head
// The formula of mat_vec, with the sums of a row added up by one subgroup: no workgroup memory but a counter.
//
// A workgroup computes GROUP_ROWS rows of y. Each of its subgroups takes the next OUTPUTS rows until none is left, so
// any size of subgroup is right, and so is any way in which the device forms them.

override GROUP_ROWS: u32; // a multiple of OUTPUTS

#import mat_vec_rows

var<workgroup> taken: atomic<u32>; // rows that a subgroup has taken

// The first of the next rows, the same in all lanes.
fn take(lane: u32) -> u32 {
    var first = 0u;
    if lane == 0u {
        first = atomicAdd(&taken, OUTPUTS);
    }
    return subgroupBroadcastFirst(first);
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let begin = (group.y * groups.x + group.x) * GROUP_ROWS;
    // Workgroup memory starts as 0, but SwiftShader clears it when a subgroup starts, which may be after another has
    // finished.
    workgroupBarrier();
    let lanes = subgroupAdd(1u);
    let lane = subgroupExclusiveAdd(1u);
    for (var first = take(lane); first < GROUP_ROWS && begin + first < ROWS; first = take(lane)) {
        let row = begin + first;
        var sums = sum_slots(row, lane, lanes);
        let squares = subgroupAdd(sums.squares);
        for (var slot = 0u; slot < SLOTS; slot += 1u) {
            sums.rows[slot] = subgroupAdd(sums.rows[slot]);
        }
        if lane == 0u {
            for (var i = 0u; i < OUTPUTS; i += 1u) {
                if SWIGLU {
                    write_row(row + i, sums.rows[2u * i], sums.rows[2u * i + 1u], squares);
                } else {
                    write_row(row + i, sums.rows[i], 0.0, squares);
                }
            }
        }
    }
}
