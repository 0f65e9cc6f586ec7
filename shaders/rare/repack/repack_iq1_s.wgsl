// IQ1_S, 50 bytes: f16 scale, 32 numbers of entries, 8 times 16 bits of the numbers' upper bits, scale and sign.
override HIGH_AT: u32;
override HEADS_AT: u32;

fn repack_block(i: u32, b: u32) {
    let first = params.raw_offset + 50u * (i / 8u);
    let s = i & 7u;
    // mutant (repack): first + 2u + 4u * s => first + 2u
    put(b, raw_u32(first + 2u + 4u * s));
    // mutant (repack): first + 34u + 2u * s => first + 34u
    put_half(HIGH_AT, b, raw_u16(first + 34u + 2u * s));
    if s == 0u {
        put_half(HEADS_AT, b / 8u, raw_u16(first));
    }
}
