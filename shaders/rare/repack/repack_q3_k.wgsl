// Q3_K, 110 bytes: 32 bytes of high bits (bit s of byte l: weight l of block s), 64 bytes of pairs as in Q2_K, 12
// bytes of scales, f16 scale.
#import repack_bits

override HIGH_AT: u32;
override SCALES_AT: u32;
override HEADS_AT: u32;

fn repack_block(i: u32, b: u32) {
    let first = params.raw_offset + 110u * (i / 8u);
    let s = i & 7u;
    // mutant (repack): gather_bits(first, s) => gather_bits(first, s & 3u)
    put(HIGH_AT + b, gather_bits(first, s));
    for (var g = 0u; g < 2u; g += 1u) {
        put(b * 2u + g, gather_pairs(first + 32u + 32u * (s / 4u), 2u * (s & 3u), g));
    }
    if s == 0u {
        for (var k = 0u; k < 3u; k += 1u) {
            // mutant (repack): b / 8u * 3u + k => b / 8u * 4u + k
            put(SCALES_AT + b / 8u * 3u + k, raw_u32(first + 96u + 4u * k));
        }
        put_half(HEADS_AT, b / 8u, raw_u16(first + 108u));
    }
}
