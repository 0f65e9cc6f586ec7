// TQ1_0, 54 bytes: 48 bytes of five base-3 digits, 4 bytes of four, f16 scale. Digits become bit pairs.
override HEADS_AT: u32;

// Digit n of byte `at`: a byte is a fraction of 256, its first digit the first after the point.
fn digit(at: u32, n: u32) -> u32 {
    var fraction = raw_byte(at);
    for (var i = 0u; i < n; i += 1u) {
        // mutant (repack): (3u * fraction) & 255u => (3u * fraction) & 511u
        fraction = (3u * fraction) & 255u;
    }
    return (3u * fraction) >> 8u;
}

// The digit of weight w of 256. Bytes 0–31 have the weights w of the first five blocks at digit w / 32, bytes 32–47
// those of the next five halves of a block, bytes 48–51 the last 16.
fn digit_of(first: u32, w: u32) -> u32 {
    if w < 160u {
        return digit(first + w % 32u, w / 32u);
    }
    if w < 240u {
        // mutant (repack): (w - 160u) / 16u => (w - 160u) / 32u
        return digit(first + 32u + w % 16u, (w - 160u) / 16u);
    }
    return digit(first + 48u + w % 4u, (w - 240u) / 4u);
}

fn repack_block(i: u32, b: u32) {
    let first = params.raw_offset + 54u * (i / 8u);
    let s = i & 7u;
    for (var g = 0u; g < 2u; g += 1u) {
        var word = 0u;
        for (var k = 0u; k < 16u; k += 1u) {
            // Weight 4 (k / 4) + k % 4 of the half is in byte k % 4.
            // mutant (repack): 8u * (k & 3u) + 2u * (k / 4u) => 2u * k
            word |= digit_of(first, 32u * s + 16u * g + k) << (8u * (k & 3u) + 2u * (k / 4u));
        }
        put(b * 2u + g, word);
    }
    if s == 0u {
        put_half(HEADS_AT, b / 8u, raw_u16(first + 52u));
    }
}
