// Adds up the products of all columns, of which the step after the next is fetched during each. Steps past the end are
// zeros.
fn add_up(sums: ptr<function, Sums>, x_at: u32, w_at: u32, place: Place) {
    var even: Share;
    var odd: Share;
    fetch(&even, 0u, place);
    fetch(&odd, STEP, place);
    for (var b = 0u; b < BLOCKS; b += 2u * STEP) {
        workgroupBarrier();
        put(&even, place.thread);
        workgroupBarrier();
        fetch(&even, b + 2u * STEP, place);
        multiply_step(sums, x_at, w_at);
        workgroupBarrier();
        put(&odd, place.thread);
        workgroupBarrier();
        // mutant (mat_mul_subgroup_matrix): b + 3u * STEP => b + 2u * STEP
        fetch(&odd, b + 3u * STEP, place);
        multiply_step(sums, x_at, w_at);
    }
}
