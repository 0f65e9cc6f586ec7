// IQ2_XXS: weight = scale · (4-bit scale + 1/2) / 4 · signed value; a byte for each entry of a grid of eight
// magnitudes; a word of signs and scale; an f16 per 256.
#import grid_signs
#import grid_eights
#import grid_magnitudes

override SCALES_AT: u32;
override HEADS_AT: u32;

const BITS = 7;
const HALVES = false;

// The entry of eighth g of a block, given the numbers of its four.
fn entry_of(numbers: u32, g: u32) -> u32 {
    // mutant (mat_vec, mat_mul_int8, gather, mat_mul): numbers >> (8u * g) => numbers >> (8u * (g & 1u))
    let n = numbers >> (8u * g);
    return entry(n & 127u, (n >> 7u) & 1u);
}

fn word_of(entry: u32, signs: u32, k: u32) -> u32 {
    return signed_word(magnitudes_of(codes_of(entry, k)), signs, k);
}

fn block_words(b: u32) -> array<u32, 8> {
    let numbers = w_word[b];
    let signs = with_eighth_signs(w_word[SCALES_AT + b]);
    let e = array<u32, 4>(entry_of(numbers, 0u), entry_of(numbers, 1u), entry_of(numbers, 2u), entry_of(numbers, 3u));
    return array<u32, 8>(
        word_of(e[0], signs, 0u), word_of(e[0], signs, 1u), word_of(e[1], signs, 2u), word_of(e[1], signs, 3u),
        word_of(e[2], signs, 4u), word_of(e[2], signs, 5u), word_of(e[3], signs, 6u), word_of(e[3], signs, 7u),
    );
}

fn block_word(b: u32, k: u32) -> u32 {
    // mutant (gather, mat_mul): k / 2u => k / 4u
    return word_of(entry_of(w_word[b], k / 2u), with_eighth_signs(w_word[SCALES_AT + b]), k);
}

fn block_scales(b: u32) -> vec4<f32> {
    let steps = f32(spare_bits(w_word[SCALES_AT + b]));
    // mutant (gather, mat_vec): 0.25 * steps + 0.125 => 0.25 * steps
    let scale = (0.25 * steps + 0.125) * half_at(HEADS_AT, b / 8u);
    return vec4<f32>(scale, scale, 64.0 * scale, 64.0 * scale);
}

#import quants
