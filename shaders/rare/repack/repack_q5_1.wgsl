// Q5_1, 24 bytes: f16 scale and offset, 32 fifth bits, 16 bytes of nibbles, in the packed order already.
#import spread_bits

override HIGH_AT: u32;
override SCALES_AT: u32;

fn repack_block(i: u32, b: u32) {
    let first = params.raw_offset + 24u * i;
    put(SCALES_AT + b, raw_u32(first));
    // mutant (repack): spread_bits(raw_u32(first + 4u)) => raw_u32(first + 4u)
    put(HIGH_AT + b, spread_bits(raw_u32(first + 4u)));
    for (var k = 0u; k < 4u; k += 1u) {
        // mutant (repack): first + 8u + 4u * k => first + 4u + 4u * k
        put(b * 4u + k, raw_u32(first + 8u + 4u * k));
    }
}
