// Thread groups that are subgroups, of LANES threads or, with 0, of any size. As in all these shaders, a subgroup is
// taken to be consecutive threads of a one-dimensional workgroup, which WebGPU does not promise.
struct ThreadGroup {
    index: u32, // of the thread group in its workgroup
    lane: u32,  // of the thread in its thread group
    lanes: u32, // threads of a thread group
}

fn join_thread_group(thread: u32) -> ThreadGroup {
    let lanes = select(LANES, subgroupAdd(1u), LANES == 0u); // a power of two
    // mutant (mat_vec, mat_vec_split): thread >> firstTrailingBit(lanes) => thread >> (firstTrailingBit(lanes) + 1u)
    return ThreadGroup(thread >> firstTrailingBit(lanes), thread & (lanes - 1u), lanes);
}

// Adds up each of a thread group's sums: every lane gets the total.
fn thread_group_sums(sums: ptr<function, array<f32, MAX_SUMS>>, thread_group: ThreadGroup, thread: u32) {
    // mutant (mat_vec, mat_vec_split): i < SUMS; i => i + 1u < SUMS; i
    for (var i = 0u; i < SUMS; i += 1u) {
        (*sums)[i] = subgroupAdd((*sums)[i]);
    }
}
