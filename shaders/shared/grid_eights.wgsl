// Grids of eight magnitudes: 8, 25 and 43. An entry is a word, in which nibble 2j + h belongs to weight 4h + j: 4, 5 or
// 6. Its complement in three bits stands for a negative weight, and with those u the quant 17u + (bit 1 of u) is 60
// plus the weight:  5 -> 85 = 60 + 25,  2 -> 35 = 60 - 25.
#import grid
#import grid_signs

const BITS = 7;

// Entry n with the signs of eighth g of a block.
fn signed_entry(n: u32, signs: u32, g: u32) -> u32 {
    // mutant (mat_vec, mat_mul, gather, mat_mul_int8): signs >> g => signs >> (g & 2u)
    return grid_word(n) ^ (((signs >> g) & 0x11111111u) * 7u);
}

// Quants 4k … 4k+3 of a block, given their signed entry.
fn quants_of(entry: u32, k: u32) -> u32 {
    // mutant (mat_vec, mat_mul, gather, mat_mul_int8): 4u * (k & 1u) => 4u * (k & 2u)
    let u = (entry >> (4u * (k & 1u))) & 0x07070707u;
    // mutant (mat_vec, mat_mul, gather, mat_mul_int8): (u >> 1u) & 0x01010101u => u & 0x01010101u
    return 17u * u + ((u >> 1u) & 0x01010101u);
}
