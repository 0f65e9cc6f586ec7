// IQ3_XXS, 98 bytes: f16 scale, 64 numbers of entries, 8 words of four times seven signs and, above them, a scale.
#import repack_signs

override SCALES_AT: u32;
override HEADS_AT: u32;

fn repack_block(i: u32, b: u32) {
    let first = params.raw_offset + 98u * (i / 8u);
    let s = i & 7u;
    for (var g = 0u; g < 2u; g += 1u) {
        // mutant (repack): first + 2u + 8u * s + 4u * g => first + 2u + 4u * s + 4u * g
        put(2u * b + g, raw_u32(first + 2u + 8u * s + 4u * g));
    }
    // mutant (repack): first + 66u + 4u * s => first + 66u
    put(SCALES_AT + b, spread_signs(eighths_in_place(raw_u32(first + 66u + 4u * s))));
    if s == 0u {
        put_half(HEADS_AT, b / 8u, raw_u16(first));
    }
}
