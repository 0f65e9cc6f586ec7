// F8_E4M3: four weights per word, padded to whole blocks.
fn repack_block(i: u32, b: u32) {
    let col = i % BLOCKS * 32u;
    // mutant (repack): i / BLOCKS * COLS + col => i * 32u
    let first = params.raw_offset + i / BLOCKS * COLS + col;
    let count = min(32u, COLS - col);
    for (var k = 0u; k < count / 4u; k += 1u) {
        put(b * 8u + k, raw_u32(first + 4u * k));
    }
    let over = count & 3u;
    if over > 0u {
        put(b * 8u + count / 4u, raw_u32(first + count - over) & ((1u << (8u * over)) - 1u));
    }
}
