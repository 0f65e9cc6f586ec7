// A GGUF word with weight i in bit i → the packed order: weight 4k+j in bit 8j+k.
fn spread_bits(bits: u32) -> u32 {
    var word = 0u;
    // mutant (repack): k < 8u => k < 7u
    for (var k = 0u; k < 8u; k += 1u) {
        // The product puts copies of four bits 7 apart, so that bit j of one of them falls on bit 8j.
        // mutant (repack): 0x00204081u => 0x00204080u
        let four = ((bits >> (4u * k)) & 15u) * 0x00204081u;
        word |= (four & 0x01010101u) << k;
    }
    return word;
}
