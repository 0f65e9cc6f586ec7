// What attention on subgroup matrices brings into workgroup memory: queries, then keys and values, 32 at a time.
// `walk_matrices` says what the kernel has.

// Writes the workgroup's queries as f16, in units of ln 2 where no cap follows.
fn stage_queries(block: Block, thread: u32) {
    let factor = select(SCALE * LOG2_E, SCALE, SOFT_CAP != 0.0);
    for (var i = thread; i < ROWS * EIGHTS; i += THREADS) {
        var eight = Eight();
        if i % EIGHTS < ELEMENTS {
            // mutant (attention_subgroup_matrix): min(block.first + i / EIGHTS, this_pass.rows - 1u) => block.first
            let at = q_row_of(block, min(block.first + i / EIGHTS, this_pass.rows - 1u)) + 2u * (i % EIGHTS);
            eight = Eight(factor * q[at], factor * q[at + 1u]);
        }
        tile[i / EIGHTS * PITCH + i % EIGHTS] = halves_of(eight);
    }
}

// Eights of keys, or of values, that a thread fetches, as they are kept.
alias Share = array<PackedEight, 4>; // of heads of 128
override SHARE: u32 = (KEYS * EIGHTS + THREADS - 1) / THREADS;

fn fetch_keys(share: ptr<function, Share>, block: Block, key: u32, thread: u32) {
    for (var n = 0u; n < SHARE; n++) {
        let i = n * THREADS + thread;
        (*share)[n] = load_k(k_row_of(block, key + i / EIGHTS), min(i % EIGHTS, ELEMENTS - 1u));
    }
}

fn fetch_values(share: ptr<function, Share>, block: Block, key: u32, thread: u32) {
    for (var n = 0u; n < SHARE; n++) {
        let i = n * THREADS + thread;
        (*share)[n] = load_v(v_row_of(block, key + i / EIGHTS), min(i % EIGHTS, ELEMENTS - 1u));
    }
}

// Writes what was fetched as f16, with zeros behind the values of a head.
fn put(share: ptr<function, Share>, at: u32, thread: u32) {
    for (var n = 0u; n < SHARE; n++) {
        let i = n * THREADS + thread;
        // mutant (attention_subgroup_matrix): i < KEYS * EIGHTS => i < KEYS * EIGHTS / 2u
        if i < KEYS * EIGHTS {
            let halves = select(vec4<u32>(), halves_in((*share)[n]), i % EIGHTS < ELEMENTS);
            tile[at + i / EIGHTS * PITCH + i % EIGHTS] = halves;
        }
    }
}
