// IQ2_S, 82 bytes: f16 scale, 32 numbers of entries, 32 bytes of signs, 8 bytes of the numbers' upper bits, 8 bytes of
// scales.
#import repack_signs

override HIGH_AT: u32;
override SIGNS_AT: u32;
override SCALES_AT: u32;
override HEADS_AT: u32;

fn repack_block(i: u32, b: u32) {
    let first = params.raw_offset + 82u * (i / 8u);
    let s = i & 7u;
    put(b, raw_u32(first + 2u + 4u * s));
    // mutant (repack): first + 34u + 4u * s => first + 34u
    put(SIGNS_AT + b, spread_signs(raw_u32(first + 34u + 4u * s)));
    if s == 0u {
        for (var k = 0u; k < 2u; k += 1u) {
            put(HIGH_AT + b / 4u + k, raw_u32(first + 66u + 4u * k));
            // mutant (repack): first + 74u + 4u * k => first + 74u
            put(SCALES_AT + b / 4u + k, raw_u32(first + 74u + 4u * k));
        }
        put_half(HEADS_AT, b / 8u, raw_u16(first));
    }
}
