// IQ4_XS: weight = scale · (6-bit scale - 32) · table[quant], with IQ4_NL's table; nibbles; per 256 weights two words,
// as in GGUF: f16 scale and the upper two bits of eight scales, then their low nibbles.
#import nibbles
#import codebook

override SCALES_AT: u32;

const BITS = 8;
const HALVES = false;

fn block_words(b: u32) -> array<u32, 8> {
    return codebook_words(b);
}

fn block_word(b: u32, k: u32) -> u32 {
    // mutant (gather, mat_mul): codebook_word(open_nibble_word(b, k)) => codebook_word(open_nibble_word(b, k & 3u))
    return codebook_word(open_nibble_word(b, k));
}

fn block_scales(b: u32) -> vec4<f32> {
    let at = SCALES_AT + b / 8u * 2u;
    let head = w_word[at];
    let part = b & 7u;
    // mutant (gather, mat_vec): 16u + 2u * part => 16u + 2u * (part & 3u)
    let high = (head >> (16u + 2u * part)) & 3u;
    // mutant (gather, mat_vec): >> (4u * part) => >> (4u * (part & 3u))
    let low = (w_word[at + 1u] >> (4u * part)) & 15u;
    // mutant (gather, mat_vec): - 32.0 => - 31.0
    let scale = unpack2x16float(head).x * (f32(low | (high << 4u)) - 32.0);
    return vec4<f32>(scale, scale, OFFSET * scale, OFFSET * scale);
}

#import quants
