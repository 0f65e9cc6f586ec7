// IQ1_M: weight = scale · (2 · 3-bit scale + 1) · (quant / 4 - 9/8); a byte and three bits for each entry of a grid of
// eight. A quant is four times the entry's, and 1 more where the fourth bit says that the weight is moved up by 1/8.
// Per 256 weights 8 bytes: four times four 3-bit scales, and above each four a quarter of an f16.
#import grid_pairs

override HIGH_AT: u32;
override SCALES_AT: u32;

const BITS = 4;
const HALVES = true;

fn high_bits(b: u32) -> u32 {
    // mutant (gather, mat_vec): 16u * (b & 1u) => 8u * (b & 1u)
    return w_word[HIGH_AT + b / 2u] >> (16u * (b & 1u));
}

// The entry of eighth g of a block.
fn entry_of(numbers: u32, high: u32, g: u32) -> u32 {
    // mutant (mat_vec, mat_mul_int8, gather, mat_mul): ((high >> (4u * g)) & 7u) => ((high >> (4u * g)) & 3u)
    return entry(((numbers >> (8u * g)) & 255u) | (((high >> (4u * g)) & 7u) << 8u));
}

// The quants 4k … 4k+3 of a block.
fn word_of(entry: u32, high: u32, k: u32) -> u32 {
    // mutant (mat_vec, mat_mul_int8, gather, mat_mul): 2u * (k & 6u) + 3u => 2u * (k & 4u) + 3u
    let moved_down = (high >> (2u * (k & 6u) + 3u)) & 1u;
    return (codes_of(entry, k) << 2u) | ((1u - moved_down) * 0x01010101u);
}

fn block_words(b: u32) -> array<u32, 8> {
    let n = w_word[b];
    let high = high_bits(b);
    let e = array<u32, 4>(entry_of(n, high, 0u), entry_of(n, high, 1u), entry_of(n, high, 2u), entry_of(n, high, 3u));
    return array<u32, 8>(
        word_of(e[0], high, 0u), word_of(e[0], high, 1u), word_of(e[1], high, 2u), word_of(e[1], high, 3u),
        word_of(e[2], high, 4u), word_of(e[2], high, 5u), word_of(e[3], high, 6u), word_of(e[3], high, 7u),
    );
}

fn block_word(b: u32, k: u32) -> u32 {
    let high = high_bits(b);
    // mutant (gather, mat_mul): k / 2u => k / 4u
    return word_of(entry_of(w_word[b], high, k / 2u), high, k);
}

fn block_scales(b: u32) -> vec4<f32> {
    let at = SCALES_AT + b / 8u * 2u;
    let tops = (vec2<u32>(w_word[at], w_word[at + 1u]) >> vec2<u32>(12u)) & vec2<u32>(0x000f000fu);
    let bytes = (tops | (tops >> vec2<u32>(12u))) & vec2<u32>(255u);
    // mutant (gather, mat_vec): bytes.y << 8u => bytes.y << 4u
    let head = unpack2x16float(bytes.x | (bytes.y << 8u)).x;
    // mutant (gather, mat_vec): 6u * (b & 1u) => 3u * (b & 1u)
    let fields = w_word[at + (b & 7u) / 4u] >> (8u * (b & 2u) + 6u * (b & 1u));
    let steps = (vec2<u32>(fields, fields >> 3u) & vec2<u32>(7u)) * 2u + 1u;
    let scales = vec2<f32>(steps) * (0.25 * head);
    return vec4<f32>(scales, 4.5 * scales);
}

#import quants
