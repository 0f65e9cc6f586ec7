// IQ1_S: weight = scale · (2 · 3-bit scale + 1) · (quant - 1 ± 1/8); a byte and three bits for each entry of a grid of
// eight quants; an f16 per 256. The 16 bits with the upper three of four numbers have scale and sign above them.
#import grid_pairs

override HIGH_AT: u32;
override HEADS_AT: u32;

const BITS = 2;
const HALVES = false;

fn high_bits(b: u32) -> u32 {
    // mutant (gather, mat_vec): 16u * (b & 1u) => 8u * (b & 1u)
    return w_word[HIGH_AT + b / 2u] >> (16u * (b & 1u));
}

// The entry of eighth g of a block.
fn entry_of(numbers: u32, high: u32, g: u32) -> u32 {
    // mutant (mat_vec, mat_mul_int8, gather, mat_mul): ((high >> (3u * g)) & 7u) => ((high >> (3u * g)) & 3u)
    return entry(((numbers >> (8u * g)) & 255u) | (((high >> (3u * g)) & 7u) << 8u));
}

fn block_words(b: u32) -> array<u32, 8> {
    let n = w_word[b];
    let high = high_bits(b);
    let e = array<u32, 4>(entry_of(n, high, 0u), entry_of(n, high, 1u), entry_of(n, high, 2u), entry_of(n, high, 3u));
    return array<u32, 8>(
        codes_of(e[0], 0u), codes_of(e[0], 1u), codes_of(e[1], 2u), codes_of(e[1], 3u),
        // mutant (mat_vec, mat_mul_int8): codes_of(e[3], 7u) => codes_of(e[3], 6u)
        codes_of(e[2], 4u), codes_of(e[2], 5u), codes_of(e[3], 6u), codes_of(e[3], 7u),
    );
}

fn block_word(b: u32, k: u32) -> u32 {
    // mutant (gather, mat_mul): k / 2u => k / 4u
    return codes_of(entry_of(w_word[b], high_bits(b), k / 2u), k);
}

fn block_scales(b: u32) -> vec4<f32> {
    let high = high_bits(b);
    let scale = f32(2u * ((high >> 12u) & 7u) + 1u) * half_at(HEADS_AT, b / 8u);
    // mutant (gather, mat_vec): select(0.875, 1.125, => select(1.125, 0.875,
    let minimum = scale * select(0.875, 1.125, (high & 0x8000u) != 0u);
    return vec4<f32>(scale, scale, minimum, minimum);
}

#import quants
