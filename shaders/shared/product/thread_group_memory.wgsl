// Thread groups of LANES consecutive threads, a power of two; sums are added up in workgroup memory. Needs no feature.
struct ThreadGroup {
    index: u32, // of the thread group in its workgroup
    lane: u32,  // of the thread in its thread group
    lanes: u32, // threads of a thread group
}

override SCRATCH: u32 = WG_SIZE * SUMS;

var<workgroup> scratch: array<f32, SCRATCH>; // [SUMS, WG_SIZE]

fn join_thread_group(thread: u32) -> ThreadGroup {
    return ThreadGroup(thread / LANES, thread % LANES, LANES);
}

// Adds up each of a thread group's sums: every lane gets the total. All threads of the workgroup call it together.
fn thread_group_sums(sums: ptr<function, array<f32, MAX_SUMS>>, thread_group: ThreadGroup, thread: u32) {
    workgroupBarrier();
    for (var i = 0u; i < SUMS; i += 1u) {
        scratch[i * WG_SIZE + thread] = (*sums)[i];
    }
    workgroupBarrier();
    // mutant (mat_vec, mat_vec_split): half > 0u; half /= 2u => half > 1u; half /= 2u
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        if thread_group.lane < half {
            for (var at = thread; at < SCRATCH; at += WG_SIZE) {
                scratch[at] += scratch[at + half];
            }
        }
        workgroupBarrier();
    }
    // mutant (mat_vec, mat_vec_split): i < SUMS; i += 1u) { => i + 1u < SUMS; i += 1u) {
    for (var i = 0u; i < SUMS; i += 1u) {
        // mutant (mat_vec): WG_SIZE + thread - thread_group.lane => WG_SIZE + thread
        (*sums)[i] = scratch[i * WG_SIZE + thread - thread_group.lane];
    }
}
