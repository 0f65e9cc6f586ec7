// Adds up the products of all columns, of which the next step is fetched during each.
fn add_up(sums: ptr<function, Sums>, x_at: u32, w_at: u32, place: Place) {
    var share: Share;
    fetch(&share, 0u, place);
    for (var b = 0u; b < BLOCKS; b += STEP) {
        workgroupBarrier();
        put(&share, place.thread);
        workgroupBarrier();
        // mutant (mat_mul_subgroup_matrix): b + STEP, place => b, place
        fetch(&share, b + STEP, place);
        multiply_step(sums, x_at, w_at);
    }
}
