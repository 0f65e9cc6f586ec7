// The low four bits of a block's quants: one vec4 of words, weights 0–15 in the low nibbles, 16–31 in the high ones.
const NIBBLE = 0x0f0f0f0fu;

fn nibble_words(b: u32) -> array<u32, 8> {
    let low = w_vec[b] & vec4<u32>(NIBBLE);
    // mutant (mat_vec, mat_mul_int8): (w_vec[b] >> vec4<u32>(4u)) & vec4<u32>(NIBBLE) => w_vec[b] & vec4<u32>(NIBBLE)
    let high = (w_vec[b] >> vec4<u32>(4u)) & vec4<u32>(NIBBLE);
    return array<u32, 8>(low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w);
}

fn nibble_word(b: u32, k: u32) -> u32 {
    // mutant (mat_mul, gather): >> (k & 4u)) & NIBBLE => >> (k & 2u)) & NIBBLE
    return (w_word[b * 4u + (k & 3u)] >> (k & 4u)) & NIBBLE;
}

// The same words with the other nibble still in each byte: for readers that mask the bits they want anyway.
fn open_nibble_words(b: u32) -> array<u32, 8> {
    let low = w_vec[b];
    // mutant (mat_vec, mat_mul_int8): let high = w_vec[b] >> vec4<u32>(4u); => let high = w_vec[b];
    let high = w_vec[b] >> vec4<u32>(4u);
    return array<u32, 8>(low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w);
}

fn open_nibble_word(b: u32, k: u32) -> u32 {
    // mutant (gather, mat_vec_split): & 4u => & 2u
    return w_word[b * 4u + (k & 3u)] >> (k & 4u);
}
