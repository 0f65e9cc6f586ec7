// IQ4_NL: weight = scale · table[quant]; nibbles; one f16 scale per block.
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
    let scale = half_at(SCALES_AT, b);
    // mutant (gather, mat_vec): OFFSET * scale, OFFSET * scale => scale, scale
    return vec4<f32>(scale, scale, OFFSET * scale, OFFSET * scale);
}

#import quants
