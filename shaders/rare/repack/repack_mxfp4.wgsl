// MXFP4, 17 bytes: the exponent of the scale, 16 bytes of nibbles, in the packed order already.
#import fp4_codes

override SCALES_AT: u32;

fn repack_block(i: u32, b: u32) {
    // mutant (repack): 17u * i => 18u * i
    let first = params.raw_offset + 17u * i;
    // mutant (repack): SCALES_AT + b / 4u => SCALES_AT + i / 4u
    put_bits(SCALES_AT + b / 4u, 8u * (b & 3u), 255u, raw_byte(first));
    for (var k = 0u; k < 4u; k += 1u) {
        put(b * 4u + k, fp4_codes(raw_u32(first + 1u + 4u * k)));
    }
}
