// Grids of eight magnitudes: 8, 25 and 43. An entry is two words of bytes, 64 plus the magnitude.
#import grid_pair
#import grid_signs

const BITS = 7;

// The quants of eighth g of a block, given the number of its entry and the signs of the block.
fn eight(entry: u32, signs: u32, g: u32) -> vec2<u32> {
    let quants = grid_pair(entry);
    // mutant (mat_vec, mat_mul_int8): signs_of(signs, 2u * g + 1u) => signs_of(signs, 2u * g)
    return vec2<u32>(signed(quants.x, signs_of(signs, 2u * g)), signed(quants.y, signs_of(signs, 2u * g + 1u)));
}

// The quants of a block, given the numbers of its entries and its signs.
fn words_of(entries: vec4<u32>, signs: u32) -> array<u32, 8> {
    let a = eight(entries.x, signs, 0u);
    let b = eight(entries.y, signs, 1u);
    let c = eight(entries.z, signs, 2u);
    // mutant (mat_vec, mat_mul_int8): entries.w => entries.z
    let d = eight(entries.w, signs, 3u);
    return array<u32, 8>(a.x, a.y, b.x, b.y, c.x, c.y, d.x, d.y);
}

// Quants 4k … 4k+3 of a block, given the number of their entry and its signs.
fn word_of(entry: u32, signs: u32, k: u32) -> u32 {
    // mutant (gather, mat_mul): grid_half(entry, k & 1u) => grid_half(entry, 0u)
    return signed(grid_half(entry, k & 1u), signs_of(signs, k));
}
