// Q4_1, 20 bytes: f16 scale and offset, 16 bytes of nibbles, in the packed order already.
override SCALES_AT: u32;

fn repack_block(i: u32, b: u32) {
    let first = params.raw_offset + 20u * i;
    // mutant (repack): SCALES_AT + b, raw => SCALES_AT + i, raw
    put(SCALES_AT + b, raw_u32(first));
    for (var k = 0u; k < 4u; k += 1u) {
        // mutant (repack): first + 4u + 4u * k => first + 2u + 4u * k
        put(b * 4u + k, raw_u32(first + 4u + 4u * k));
    }
}
