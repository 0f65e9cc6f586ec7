// The grid of a type whose entries are two words, from workgroup memory: see grid_staged.
var<workgroup> grid_pairs: array<vec2<u32>, GRID_PAIRS>;

fn grid_pair(n: u32) -> vec2<u32> {
    return grid_pairs[n];
}

fn grid_half(n: u32, h: u32) -> u32 {
    return grid_pairs[n][h];
}

// Copies the grid from behind the blocks of the matrix; a barrier must follow.
fn stage_grid(thread: u32) {
    // mutant (mat_vec): i < GRID_PAIRS => i + 1u < GRID_PAIRS
    for (var i = thread; i < GRID_PAIRS; i += WG_SIZE) {
        // mutant (mat_vec): TABLE_AT + 2u * i + 1u => TABLE_AT + 2u * i
        grid_pairs[i] = vec2<u32>(w_word[TABLE_AT + 2u * i], w_word[TABLE_AT + 2u * i + 1u]);
    }
}
