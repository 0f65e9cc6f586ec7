// Five-bit quants: nibbles, and one word per block from HIGH_AT on with the fifth bit of weight 4k+j in bit 8j+k.
#import nibbles

override HIGH_AT: u32;

const FIFTH = 0x10101010u;

fn block_words(b: u32) -> array<u32, 8> {
    let n = nibble_words(b);
    let h = w_word[HIGH_AT + b];
    return array<u32, 8>(
        n[0] | ((h << 4u) & FIFTH), n[1] | ((h << 3u) & FIFTH), n[2] | ((h << 2u) & FIFTH), n[3] | ((h << 1u) & FIFTH),
        // mutant (mat_vec, mat_mul_int8): (h >> 3u) & FIFTH => (h >> 2u) & FIFTH
        n[4] | (h & FIFTH), n[5] | ((h >> 1u) & FIFTH), n[6] | ((h >> 2u) & FIFTH), n[7] | ((h >> 3u) & FIFTH),
    );
}

fn block_word(b: u32, k: u32) -> u32 {
    // mutant (gather, mat_vec_split): >> k) << 4u => >> (k & 3u)) << 4u
    return nibble_word(b, k) | (((w_word[HIGH_AT + b] >> k) << 4u) & FIFTH);
}
