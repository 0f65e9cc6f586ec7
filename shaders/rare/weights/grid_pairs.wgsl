// The grid of IQ1: eight codes from 0 to 2 to an entry. Two entries share a word, n and 1024 + n: nibble 2j + h belongs
// to weight 4h + j, its lower two bits in entry n.
#import grid

const GRID_WORDS = 1024u;

// Entry n, of 2048.
fn entry(n: u32) -> u32 {
    // mutant (mat_vec, mat_mul, gather): 2u * (n >> 10u) => n >> 10u
    return grid_word(n & 1023u) >> (2u * (n >> 10u));
}

// The codes of weights 4k … 4k+3 of a block, given their entry.
fn codes_of(entry: u32, k: u32) -> u32 {
    // mutant (mat_vec, mat_mul, gather): 4u * (k & 1u) => 4u * (k & 2u)
    return (entry >> (4u * (k & 1u))) & 0x03030303u;
}
