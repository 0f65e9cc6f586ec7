// Signs, weight i in bit i → the order of grid_signs: weight 8g + 4h + j in bit 8j + 4h + g.
fn spread_signs(bits: u32) -> u32 {
    var word = 0u;
    for (var k = 0u; k < 8u; k += 1u) {
        // The product puts copies of four bits 7 apart, so that bit j of one of them falls on bit 8j.
        // mutant (repack): 0x00204081u => 0x00204080u
        let four = ((bits >> (4u * k)) & 15u) * 0x00204081u;
        // mutant (repack): 4u * (k & 1u) + k / 2u => 4u * (k & 1u)
        word |= (four & 0x01010101u) << (4u * (k & 1u) + k / 2u);
    }
    return word;
}

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
