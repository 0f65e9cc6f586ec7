// Quants of two bits, or the upper two of six: word g of a block holds weight 16g+4k+j in bits 8j+2k and 8j+2k+1.
const PAIR = 0x03030303u;

fn pair_word(word: u32, k: u32) -> u32 {
    // mutant (gather, mat_vec, mat_mul, mat_mul_int8): 2u * (k & 3u) => 2u * (k & 1u)
    return (word >> (2u * (k & 3u))) & PAIR;
}
