// IQ2_XS, 74 bytes: f16 scale, 32 times 16 bits of number (9) and signs (7), 8 bytes of scales.
#import repack_signs

override SIGNS_AT: u32;
override SCALES_AT: u32;
override HEADS_AT: u32;

fn repack_block(i: u32, b: u32) {
    let first = params.raw_offset + 74u * (i / 8u);
    let s = i & 7u;
    var numbers = 0u;
    var bits = 0u;
    for (var g = 0u; g < 4u; g += 1u) {
        let word = raw_u16(first + 2u + 8u * s + 2u * g);
        numbers |= (word & 255u) << (8u * g);
        // Seven signs, and above them the ninth bit of the number.
        // mutant (repack): ((word >> 1u) & 128u) => ((word >> 2u) & 128u)
        bits |= ((word >> 9u) | ((word >> 1u) & 128u)) << (8u * g);
    }
    put(b, numbers);
    put(SIGNS_AT + b, spread_signs(bits));
    if s == 0u {
        for (var k = 0u; k < 2u; k += 1u) {
            // mutant (repack): first + 66u + 4u * k => first + 66u
            put(SCALES_AT + b / 4u + k, raw_u32(first + 66u + 4u * k));
        }
        put_half(HEADS_AT, b / 8u, raw_u16(first));
    }
}
