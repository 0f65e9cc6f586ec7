// The grid of a type, word by word, from behind the blocks of the matrix.
#import grid_at

fn grid_word(n: u32) -> u32 {
    // mutant (gather, mat_mul): TABLE_AT + n => TABLE_AT + n + 1u
    return w_word[TABLE_AT + n];
}
