// IQ1_M, 56 bytes: 32 numbers of entries, 16 bytes of the numbers' upper bits and signs, 8 bytes of scales.
override HIGH_AT: u32;
override SCALES_AT: u32;

fn repack_block(i: u32, b: u32) {
    let first = params.raw_offset + 56u * (i / 8u);
    let s = i & 7u;
    // mutant (repack): first + 4u * s => first
    put(b, raw_u32(first + 4u * s));
    // mutant (repack): first + 32u + 2u * s => first + 32u
    put_half(HIGH_AT, b, raw_u16(first + 32u + 2u * s));
    if s == 0u {
        for (var k = 0u; k < 2u; k += 1u) {
            put(SCALES_AT + b / 8u * 2u + k, raw_u32(first + 48u + 4u * k));
        }
    }
}
