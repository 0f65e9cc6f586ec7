// Q1_0, 18 bytes: f16 scale, 16 bytes of bits, weight i in bit i.
#import spread_bits

override SCALES_AT: u32;

fn repack_block(i: u32, b: u32) {
    // mutant (repack): 18u * (i / 4u) => 18u * i
    let first = params.raw_offset + 18u * (i / 4u);
    // mutant (repack): 4u * (i & 3u) => 4u * (i & 1u)
    put(b, spread_bits(raw_u32(first + 2u + 4u * (i & 3u))));
    if (i & 3u) == 0u {
        put_half(SCALES_AT, b / 4u, raw_u16(first));
    }
}
