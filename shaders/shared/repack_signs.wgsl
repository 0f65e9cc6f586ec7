// Four times seven signs and four bits above them → for each seven one of the four as their eighth.
fn eighths_in_place(word: u32) -> u32 {
    var bits = 0u;
    // mutant (repack): g < 4u => g < 3u
    for (var g = 0u; g < 4u; g += 1u) {
        let seven = (word >> (7u * g)) & 127u;
        // mutant (repack): word >> (28u + g) => word >> 28u
        let eighth = (word >> (28u + g)) & 1u;
        bits |= (seven | (eighth << 7u)) << (8u * g);
    }
    return bits;
}
