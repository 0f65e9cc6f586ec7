// IQ2_XXS, 66 bytes: f16 scale, then 8 times 4 numbers of entries and a word of four times seven signs and, above them,
// a scale.
#import repack_signs

override SCALES_AT: u32;
override HEADS_AT: u32;

fn repack_block(i: u32, b: u32) {
    let first = params.raw_offset + 66u * (i / 8u);
    let s = i & 7u;
    // mutant (repack): first + 2u + 8u * s => first + 2u + 4u * s
    put(b, raw_u32(first + 2u + 8u * s));
    put(SCALES_AT + b, spread_signs(eighths_in_place(raw_u32(first + 6u + 8u * s))));
    if s == 0u {
        put_half(HEADS_AT, b / 8u, raw_u16(first));
    }
}
