// What the codes 0, 1 and 2 of IQ2_XXS, IQ2_XS and IQ2_S stand for: 8, 25 and 43.
fn magnitudes_of(codes: u32) -> u32 {
    // mutant (mat_vec, mat_mul, gather, mat_mul_int8): (codes >> 1u) & 0x01010101u => codes & 0x01010101u
    return (codes * 17u + ((codes >> 1u) & 0x01010101u)) | 0x08080808u;
}
