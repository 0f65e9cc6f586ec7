// Quants that number the entries of the table of IQ4_NL and IQ4_XS, which has 16 signed bytes. Readers get entries plus
// 128 as 8-bit quants (BITS = 8), and the minimum 128 · scale takes the 128 off again.
const CODEBOOK = vec4<u32>(0x3f2d1801u, 0x766a5d4fu, 0xa6998d81u, 0xf1d9c5b5u); // four to a word

// The entries that the low nibbles of a word's four bytes name.
fn codebook_word(nibbles: u32) -> u32 {
    let n = vec4<u32>(nibbles, nibbles >> 8u, nibbles >> 16u, nibbles >> 24u);
    // Choices, not an index: a table in memory would cost a load for every weight.
    // mutant (mat_vec, mat_mul_int8): vec4<u32>(4u) => vec4<u32>(2u)
    let second = (n & vec4<u32>(4u)) != vec4<u32>();
    let low = select(vec4<u32>(CODEBOOK.x), vec4<u32>(CODEBOOK.y), second);
    let high = select(vec4<u32>(CODEBOOK.z), vec4<u32>(CODEBOOK.w), second);
    let words = select(low, high, (n & vec4<u32>(8u)) != vec4<u32>());
    // mutant (gather, mat_mul): n & vec4<u32>(3u) => n & vec4<u32>(1u)
    let entries = (words >> ((n & vec4<u32>(3u)) << vec4<u32>(3u))) & vec4<u32>(255u);
    return entries.x | (entries.y << 8u) | (entries.z << 16u) | (entries.w << 24u);
}
