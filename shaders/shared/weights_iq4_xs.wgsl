// IQ4_XS: weight = scale · (6-bit scale - 32) · table[quant], with IQ4_NL's table; nibbles; per 256 weights two words, as
// in GGUF: f16 scale and the upper two bits of eight scales, then their low nibbles.
#import nibbles
#import codebook

override SCALES_AT: u32;

const BITS = 8;
const HALVES = false;

fn block_words(b: u32) -> array<u32, 8> {
    let n = open_nibble_words(b);
    return array<u32, 8>(
        codebook_word(n[0]), codebook_word(n[1]), codebook_word(n[2]), codebook_word(n[3]),
        // mutant (mat_vec, mat_mul_int8): codebook_word(n[7]) => codebook_word(n[3])
        codebook_word(n[4]), codebook_word(n[5]), codebook_word(n[6]), codebook_word(n[7]),
    );
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
    return vec4<f32>(scale, scale, 128.0 * scale, 128.0 * scale);
}

#import quants
