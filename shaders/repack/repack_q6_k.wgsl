// Q6_K, 210 bytes: 128 bytes of low nibbles (64 per 128 weights: blocks 0 and 1 low, 2 and 3 high), 64 bytes of high
// pairs (32 per 128 weights, the four blocks at shifts 0, 2, 4, 6), 16 signed scales, f16 scale.
#import repack_bits

override HIGH_AT: u32;
override SCALES_AT: u32;
override HEADS_AT: u32;

fn repack_block(i: u32, b: u32) {
    let first = params.raw_offset + 210u * (i / 8u);
    let s = i & 7u;
    // mutant (repack): 64u * (s / 4u) + 32u * (s & 1u) => 64u * (s / 4u) + 32u * ((s / 2u) & 1u)
    let low = first + 64u * (s / 4u) + 32u * (s & 1u);
    for (var k = 0u; k < 4u; k += 1u) {
        put(b * 4u + k, gather_nibbles(low, 2u * (s & 2u), k));
        if s == 0u {
            put(SCALES_AT + b / 2u + k, raw_u32(first + 192u + 4u * k));
        }
    }
    for (var g = 0u; g < 2u; g += 1u) {
        put(b * 2u + HIGH_AT + g, gather_pairs(first + 128u + 32u * (s / 4u), 2u * (s & 3u), g));
    }
    if s == 0u {
        // mutant (repack): raw_u16(first + 208u) => raw_u16(first + 206u)
        put_half(HEADS_AT, b / 8u, raw_u16(first + 208u));
    }
}
