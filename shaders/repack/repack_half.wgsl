// F16 and BF16: two weights per word, padded to whole blocks.
fn repack_block(i: u32, b: u32) {
    let col = i % BLOCKS * 32u;
    let first = params.raw_offset + 2u * (i / BLOCKS * COLS + col);
    let count = min(32u, COLS - col);
    for (var k = 0u; k < count / 2u; k += 1u) {
        put(b * 16u + k, raw_u32(first + 4u * k));
    }
    // mutant (repack): if (count & 1u) == 1u { => if count == 1u {
    if (count & 1u) == 1u {
        // mutant (repack): count / 2u, raw_u16 => count / 2u, raw_u32
        put(b * 16u + count / 2u, raw_u16(first + 2u * (count - 1u)));
    }
}
