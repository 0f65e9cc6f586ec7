// NVFP4, 36 bytes: four scales, then 8 bytes of nibbles for each 16 weights, the first eight in the low nibbles.
#import fp4_codes

override SCALES_AT: u32;

fn repack_block(i: u32, b: u32) {
    let first = params.raw_offset + 36u * (i / 2u);
    // mutant (repack): 16u * (i & 1u) => 0u
    let at = first + 4u + 16u * (i & 1u);
    for (var k = 0u; k < 4u; k += 1u) {
        // Weights 4k … 4k + 3 of either half are at the same shift of its words.
        let shift = 4u * (k / 2u);
        let low = (raw_u32(at + 4u * (k & 1u)) >> shift) & 0x0f0f0f0fu;
        // mutant (repack): raw_u32(at + 8u => raw_u32(at
        let high = (raw_u32(at + 8u + 4u * (k & 1u)) >> shift) & 0x0f0f0f0fu;
        put(b * 4u + k, fp4_codes(low | (high << 4u)));
    }
    if (i & 1u) == 0u {
        // mutant (repack): SCALES_AT + b / 2u => SCALES_AT + b / 4u
        put(SCALES_AT + b / 2u, raw_u32(first));
    }
}
