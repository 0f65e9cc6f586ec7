// F32: words, padded to whole blocks.
fn repack_block(i: u32, b: u32) {
    let col = i % BLOCKS * 32u;
    // mutant (repack): i / BLOCKS * COLS + col => i * 32u
    let first = params.raw_offset + 4u * (i / BLOCKS * COLS + col);
    // mutant (repack): min(32u, COLS - col) => 32u
    for (var k = 0u; k < min(32u, COLS - col); k += 1u) {
        put(b * 32u + k, raw_u32(first + 4u * k));
    }
}
