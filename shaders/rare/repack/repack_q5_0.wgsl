// Q5_0, 22 bytes: f16 scale, 32 fifth bits, 16 bytes of nibbles, in the packed order already.
#import spread_bits

override HIGH_AT: u32;
override SCALES_AT: u32;

fn repack_block(i: u32, b: u32) {
    let first = params.raw_offset + 22u * i;
    put_half(SCALES_AT, b, raw_u16(first));
    // mutant (repack): HIGH_AT + b, spread => HIGH_AT + i, spread
    put(HIGH_AT + b, spread_bits(raw_u32(first + 2u)));
    for (var k = 0u; k < 4u; k += 1u) {
        // mutant (repack): first + 6u + 4u * k => first + 2u + 4u * k
        put(b * 4u + k, raw_u32(first + 6u + 4u * k));
    }
}
