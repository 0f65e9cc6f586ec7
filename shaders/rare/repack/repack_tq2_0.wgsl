// TQ2_0, 66 bytes: 64 bytes of pairs (32 per 128 weights, the four blocks at shifts 0, 2, 4, 6), f16 scale.
#import repack_bits

override HEADS_AT: u32;

fn repack_block(i: u32, b: u32) {
    let first = params.raw_offset + 66u * (i / 8u);
    let s = i & 7u;
    for (var g = 0u; g < 2u; g += 1u) {
        // mutant (repack): 32u * (s / 4u), 2u * (s & 3u) => 32u * (s / 4u), 2u * (s & 1u)
        put(b * 2u + g, gather_pairs(first + 32u * (s / 4u), 2u * (s & 3u), g));
    }
    if s == 0u {
        // mutant (repack): HEADS_AT, b / 8u => HEADS_AT, i / 8u
        put_half(HEADS_AT, b / 8u, raw_u16(first + 64u));
    }
}
