// The grid of a type, word by word, from workgroup memory: 32 lanes read 32 different words at once, which memory and
// its caches serve a line at a time.
var<workgroup> grid_words: array<u32, GRID_WORDS>;

fn grid_word(n: u32) -> u32 {
    return grid_words[n];
}

// Copies the grid from behind the blocks of the matrix; a barrier must follow.
fn stage_grid(thread: u32) {
    // mutant (mat_vec): i < GRID_WORDS => i + 1u < GRID_WORDS
    for (var i = thread; i < GRID_WORDS; i += WG_SIZE) {
        grid_words[i] = w_word[TABLE_AT + i];
    }
}
