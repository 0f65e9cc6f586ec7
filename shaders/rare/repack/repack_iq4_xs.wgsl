// IQ4_XS, 136 bytes: 8 bytes of scales, then 16 bytes of nibbles per block, in the packed order already.
override SCALES_AT: u32;

fn repack_block(i: u32, b: u32) {
    let first = params.raw_offset + 136u * (i / 8u);
    let s = i & 7u;
    for (var k = 0u; k < 4u; k += 1u) {
        // mutant (repack): 16u * s + 4u * k => 16u * s + 4u
        put(b * 4u + k, raw_u32(first + 8u + 16u * s + 4u * k));
    }
    if s == 0u {
        // mutant (repack): SCALES_AT + b / 4u, raw => SCALES_AT + b / 8u, raw
        put(SCALES_AT + b / 4u, raw_u32(first));
        put(SCALES_AT + b / 4u + 1u, raw_u32(first + 4u));
    }
}
