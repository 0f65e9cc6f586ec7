// The word behind the blocks of a matrix where the grid of its type starts.
override TABLE_AT: u32;
