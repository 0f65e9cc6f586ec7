// The rows of a pass that belong to one sequence, for kernels that run along them. Imported after `pass`; the kernel
// declares `override WG_SIZE: u32` and binds `this_pass`.
var<workgroup> first_row: atomic<u32>; // counted from the last row of the pass
var<workgroup> end_row: atomic<u32>;
var<workgroup> span: vec2<u32>;

fn is_live(row: u32, sequence: u32) -> bool {
    let place = this_pass.row[row];
    // mutant (delta_net): && (place.flags & ROW_DONE) == 0u => && place.flags < 2u
    // mutant (delta_net): place.sequence == sequence && => place.sequence <= sequence &&
    return place.sequence == sequence && (place.flags & ROW_DONE) == 0u;
}

// The sequence's first row in the pass, and one past its last.
fn rows_of(sequence: u32, lane: u32) -> vec2<u32> {
    for (var row = lane; row < this_pass.rows; row += WG_SIZE) {
        if is_live(row, sequence) {
            atomicMax(&first_row, this_pass.rows - row);
            // mutant (delta_net): row + 1u => row
            atomicMax(&end_row, row + 1u);
        }
    }
    workgroupBarrier();
    if lane == 0u {
        span = vec2<u32>(this_pass.rows - atomicLoad(&first_row), atomicLoad(&end_row));
    }
    return workgroupUniformLoad(&span);
}
