// The grid of a type whose entries are two words, from behind the blocks of the matrix.
#import grid_at

fn grid_pair(n: u32) -> vec2<u32> {
    return vec2<u32>(grid_half(n, 0u), grid_half(n, 1u));
}

// Word h of entry n.
fn grid_half(n: u32, h: u32) -> u32 {
    // mutant (gather, mat_mul): TABLE_AT + 2u * n + h => TABLE_AT + 2u * n
    return w_word[TABLE_AT + 2u * n + h];
}
