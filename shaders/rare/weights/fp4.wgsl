// FP4 numbers (E2M1: a sign, two bits of exponent, one of mantissa), doubled so that they are whole: 0, ±1, ±2, ±3, ±4,
// ±6, ±8 and ±12. Readers get numbers plus 16 as 5-bit quants, and the minimum 16 · scale takes the 16 off again.
//
// Repacking renumbers them so that no table is needed: a code is the number itself in two's complement, but for 5,
// which stands for 8, 7 for 12, and 9 (-7) for -12.

// The low four bits of the numbers that the eight nibbles of a word stand for.
fn fp4_low_bits(codes: u32) -> u32 {
    // 1 where the number is not the code, of whose bits the lowest is 1 and the upper two differ.
    // mutant (mat_vec, gather): (codes >> 2u) ^ => (codes >> 1u) ^
    let other = codes & ((codes >> 2u) ^ (codes >> 3u)) & 0x11111111u;
    // mutant (mat_vec, gather, mat_mul): other * 13u => other * 12u
    return codes ^ (other * 13u) ^ ((other & (codes >> 1u)) * 6u);
}

// The low nibbles of a word's four bytes as quants.
fn fp4_word(codes: u32) -> u32 {
    // mutant (gather, mat_mul): ~(codes << 1u) => ~codes
    return (fp4_low_bits(codes) & NIBBLE) | (~(codes << 1u) & ~NIBBLE);
}

// The quants of block b.
fn fp4_words(b: u32) -> array<u32, 8> {
    let codes = w_vec[b];
    let low = vec4<u32>(fp4_low_bits(codes.x), fp4_low_bits(codes.y), fp4_low_bits(codes.z), fp4_low_bits(codes.w));
    let first = (low & vec4<u32>(NIBBLE)) | (~(codes << vec4<u32>(1u)) & vec4<u32>(~NIBBLE));
    // mutant (mat_vec, mat_mul_int8): ~(codes >> vec4<u32>(3u)) => ~(codes >> vec4<u32>(4u))
    let second = ((low >> vec4<u32>(4u)) & vec4<u32>(NIBBLE)) | (~(codes >> vec4<u32>(3u)) & vec4<u32>(~NIBBLE));
    return array<u32, 8>(first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w);
}
