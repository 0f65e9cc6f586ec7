// IQ3_S, 110 bytes: f16 scale, 64 numbers of entries, 8 bytes of their ninth bits, 32 bytes of signs, 4 bytes of
// scales.
#import repack_signs

override HIGH_AT: u32;
override SIGNS_AT: u32;
override SCALES_AT: u32;
override HEADS_AT: u32;

fn repack_block(i: u32, b: u32) {
    let first = params.raw_offset + 110u * (i / 8u);
    let s = i & 7u;
    for (var g = 0u; g < 2u; g += 1u) {
        put(2u * b + g, raw_u32(first + 2u + 8u * s + 4u * g));
    }
    // mutant (repack): first + 74u + 4u * s => first + 74u
    put(SIGNS_AT + b, spread_signs(raw_u32(first + 74u + 4u * s)));
    if s == 0u {
        for (var k = 0u; k < 2u; k += 1u) {
            // mutant (repack): first + 66u + 4u * k => first + 66u
            put(HIGH_AT + b / 4u + k, raw_u32(first + 66u + 4u * k));
        }
        put(SCALES_AT + b / 8u, raw_u32(first + 106u));
        put_half(HEADS_AT, b / 8u, raw_u16(first));
    }
}
