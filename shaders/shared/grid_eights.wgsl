// Grids of eight weights. Two entries share a word: entry n, and the one that is half of the grid further. Of the codes
// 0 to 2, those of weights 0–3 lie in the low nibbles of its bytes, those of 4–7 in the high ones; the second entry's
// are the upper two bits of the nibbles.
override TABLE_AT: u32;

// Entry n, or the second one of its word.
fn entry(n: u32, second: u32) -> u32 {
    // mutant (mat_vec, mat_mul, gather): >> (2u * second) => >> second
    return w_word[TABLE_AT + n] >> (2u * second);
}

// The codes of weights 4k … 4k+3 of a block, as bytes, given the entry that they are part of.
fn codes_of(entry: u32, k: u32) -> u32 {
    // mutant (mat_vec, mat_mul, gather): 4u * (k & 1u) => 4u * (k & 2u)
    return (entry >> (4u * (k & 1u))) & 0x03030303u;
}
