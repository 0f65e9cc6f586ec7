// Q4_K, 144 bytes: 16 bytes of scales, then 32 bytes per two blocks, the first in the low nibbles.
#import repack_bits

override SCALES_AT: u32;

fn repack_block(i: u32, b: u32) {
    let first = params.raw_offset + 144u * (i / 8u);
    let s = i & 7u;
    for (var k = 0u; k < 4u; k += 1u) {
        // mutant (repack): 4u * (s & 1u) => 0u
        put(b * 4u + k, gather_nibbles(first + 16u + 32u * (s / 2u), 4u * (s & 1u), k));
        if s == 0u {
            // mutant (repack): SCALES_AT + b / 2u + k => SCALES_AT + b / 8u + k
            put(SCALES_AT + b / 2u + k, raw_u32(first + 4u * k));
        }
    }
}
