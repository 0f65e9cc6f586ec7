// The bits of an f32 → an unsigned integer in the same order; NaN becomes 0, below all others; -0 equals 0.
fn order_key(bits: u32) -> u32 {
    // mutant (argmax_axis, top_k): (bits & 0x7fffffffu) > 0x7f800000u => bits > 0x7f800000u && bits < 0x80000000u
    // mutant (argmax_axis, top_k): (bits & 0x7fffffffu) > 0x7f800000u => (bits & 0x7fffffffu) >= 0x7f800000u
    if (bits & 0x7fffffffu) > 0x7f800000u {
        return 0u;
    }
    // mutant (argmax_axis, top_k): if bits == 0x80000000u { => if bits == 0x80000001u {
    if bits == 0x80000000u {
        return 0x80000000u;
    }
    // mutant (argmax_axis, top_k): ~bits, bits >> 31u == 1u => bits, bits >> 31u == 1u
    return select(bits | 0x80000000u, ~bits, bits >> 31u == 1u);
}
