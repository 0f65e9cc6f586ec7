// Q2_K, 84 bytes: 16 bytes of scales, 64 bytes of pairs (32 per 128 weights, the four blocks at shifts 0, 2, 4, 6),
// f16 scale and minimum.
#import repack_bits

override SCALES_AT: u32;
override HEADS_AT: u32;

fn repack_block(i: u32, b: u32) {
    let first = params.raw_offset + 84u * (i / 8u);
    let s = i & 7u;
    for (var g = 0u; g < 2u; g += 1u) {
        // mutant (repack): 32u * (s / 4u), 2u * (s & 3u) => 32u * (s / 4u), 2u * (s & 1u)
        put(b * 2u + g, gather_pairs(first + 16u + 32u * (s / 4u), 2u * (s & 3u), g));
    }
    if s == 0u {
        for (var k = 0u; k < 4u; k += 1u) {
            // mutant (repack): SCALES_AT + b / 2u + k => SCALES_AT + b / 4u + k
            put(SCALES_AT + b / 2u + k, raw_u32(first + 4u * k));
        }
        put(HEADS_AT + b / 8u, raw_u32(first + 80u));
    }
}
