// The bits of an f32 → a number that orders as the f32 do, with NaN, 0, below all; -0 equals 0.
fn order_key(bits: u32) -> u32 {
    if (bits & 0x7fffffffu) > 0x7f800000u {
        return 0u;
    }
    if bits == 0x80000000u {
        return 0x80000000u;
    }
    return select(bits | 0x80000000u, ~bits, bits >> 31u == 1u);
}
