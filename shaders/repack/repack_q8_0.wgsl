// Q8_0, 34 bytes: f16 scale, 32 signed bytes.
override SCALES_AT: u32;

fn repack_block(i: u32, b: u32) {
    let first = params.raw_offset + 34u * i;
    // mutant (repack): SCALES_AT, b, raw => SCALES_AT, i, raw
    put_half(SCALES_AT, b, raw_u16(first));
    // mutant (repack): k < 8u => k < 7u
    for (var k = 0u; k < 8u; k += 1u) {
        put(b * 8u + k, raw_u32(first + 2u + 4u * k));
    }
}
