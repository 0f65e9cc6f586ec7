// IQ4_NL: weight = scale · table[quant]; nibbles; one f16 scale per block.
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
    let scale = half_at(SCALES_AT, b);
    // mutant (gather, mat_vec): 128.0 * scale, 128.0 * scale => 127.0 * scale, 127.0 * scale
    return vec4<f32>(scale, scale, 128.0 * scale, 128.0 * scale);
}

#import quants
