// The codes (see fp4.wgsl) of eight FP4 numbers: 0 to 7 for 0, 1, 2, 3, 4, 6, 8 and 12, and 8 more for their negatives.
fn fp4_codes(numbers: u32) -> u32 {
    var codes = 0u;
    // mutant (repack): i < 32u => i < 28u
    for (var i = 0u; i < 32u; i += 4u) {
        let number = (numbers >> i) & 15u;
        let table = select(0x75643210u, 0x98acdef0u, number >= 8u);
        // mutant (repack): number & 7u => number & 3u
        codes |= ((table >> (4u * (number & 7u))) & 15u) << i;
    }
    return codes;
}
