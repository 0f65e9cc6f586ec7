// Q5_K, 176 bytes: 16 bytes of scales, 32 bytes of fifth bits (bit s of byte l: weight l of block s), nibbles as in
// Q4_K.
#import repack_bits

override HIGH_AT: u32;
override SCALES_AT: u32;

fn repack_block(i: u32, b: u32) {
    let first = params.raw_offset + 176u * (i / 8u);
    let s = i & 7u;
    // mutant (repack): gather_bits(first + 16u, s) => gather_bits(first + 16u, 0u)
    put(HIGH_AT + b, gather_bits(first + 16u, s));
    for (var k = 0u; k < 4u; k += 1u) {
        // mutant (repack): first + 48u + 32u * (s / 2u) => first + 48u + 32u * (s / 4u)
        put(b * 4u + k, gather_nibbles(first + 48u + 32u * (s / 2u), 4u * (s & 1u), k));
        if s == 0u {
            put(SCALES_AT + b / 2u + k, raw_u32(first + 4u * k));
        }
    }
}
