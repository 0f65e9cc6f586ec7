// Q4_0 and IQ4_NL, 18 bytes: f16 scale, 16 bytes of nibbles, in the packed order already.
override SCALES_AT: u32;

fn repack_block(i: u32, b: u32) {
    // mutant (repack): 18u * i => 20u * i
    let first = params.raw_offset + 18u * i;
    // mutant (repack): SCALES_AT, b, raw => SCALES_AT, i, raw
    put_half(SCALES_AT, b, raw_u16(first));
    for (var k = 0u; k < 4u; k += 1u) {
        put(b * 4u + k, raw_u32(first + 2u + 4u * k));
    }
}
