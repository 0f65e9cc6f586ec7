// IQ3_XXS: weight = scale · (4-bit scale + 1/2) / 2 · signed value; a byte for each entry of a grid of four magnitudes;
// a word of signs and scale; an f16 per 256.
#import grid_signs

override SCALES_AT: u32;
override HEADS_AT: u32;
override TABLE_AT: u32; // [256], four bytes each

const BITS = 7;
const HALVES = false;

// The entry that byte k & 3 of a word numbers.
fn entry(word: u32, k: u32) -> u32 {
    return w_word[TABLE_AT + ((word >> (8u * (k & 3u))) & 255u)];
}

fn block_words(b: u32) -> array<u32, 8> {
    let first = w_word[2u * b];
    // mutant (mat_vec, mat_mul_int8): w_word[2u * b + 1u] => w_word[2u * b]
    let second = w_word[2u * b + 1u];
    let signs = with_eighth_signs(w_word[SCALES_AT + b]);
    return array<u32, 8>(
        signed_word(entry(first, 0u), signs, 0u), signed_word(entry(first, 1u), signs, 1u),
        signed_word(entry(first, 2u), signs, 2u), signed_word(entry(first, 3u), signs, 3u),
        signed_word(entry(second, 0u), signs, 4u), signed_word(entry(second, 1u), signs, 5u),
        signed_word(entry(second, 2u), signs, 6u), signed_word(entry(second, 3u), signs, 7u),
    );
}

fn block_word(b: u32, k: u32) -> u32 {
    // mutant (gather, mat_mul): w_word[2u * b + k / 4u] => w_word[2u * b]
    let numbers = w_word[2u * b + k / 4u];
    return signed_word(entry(numbers, k), with_eighth_signs(w_word[SCALES_AT + b]), k);
}

fn block_scales(b: u32) -> vec4<f32> {
    let steps = f32(spare_bits(w_word[SCALES_AT + b]));
    // mutant (gather, mat_vec): 0.5 * steps + 0.25 => 0.5 * steps
    let scale = (0.5 * steps + 0.25) * half_at(HEADS_AT, b / 8u);
    return vec4<f32>(scale, scale, 64.0 * scale, 64.0 * scale);
}

#import quants
