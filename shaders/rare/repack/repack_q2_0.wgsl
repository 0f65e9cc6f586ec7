// Q2_0, 18 bytes: f16 scale, 16 bytes of pairs, weight 4k+j of 16 in bits 8k+2j and 8k+2j+1 of a word.
override SCALES_AT: u32;

// The word with its pairs as a matrix of 4 by 4 transposed: weight 4k+j in bits 8j+2k and 8j+2k+1.
fn turned(pairs: u32) -> u32 {
    let odd = (pairs ^ (pairs >> 6u)) & 0x00cc00ccu;
    let word = pairs ^ odd ^ (odd << 6u);
    // mutant (repack): (word >> 12u)) & 0x0000f0f0u => (word >> 12u)) & 0x000000f0u
    let far = (word ^ (word >> 12u)) & 0x0000f0f0u;
    return word ^ far ^ (far << 12u);
}

fn repack_block(i: u32, b: u32) {
    let first = params.raw_offset + 18u * (i / 2u);
    for (var g = 0u; g < 2u; g += 1u) {
        // mutant (repack): 8u * (i & 1u) + 4u * g => 4u * g
        put(b * 2u + g, turned(raw_u32(first + 2u + 8u * (i & 1u) + 4u * g)));
    }
    if (i & 1u) == 0u {
        put_half(SCALES_AT, b / 2u, raw_u16(first));
    }
}
