// Writes a row of a cache of Q4_0; see cache_q4_0. The numbers are those of ggml's quantize_row_q4_0_ref: the value
// farthest from 0 becomes quant 0.
#import cache_write_blocks

fn block_scale(block: u32) -> f32 {
    let value = extreme(block);
    return select(0.0, value / -8.0, value != 0.0); // and not -0
}

// Four quants in the low nibbles of bytes.
fn nibbles_of(first: u32, factor: f32) -> u32 {
    var word = 0u;
    for (var j = 0u; j < 4u; j++) {
        // mutant (rope_kv): 8.5 => 8.0
        // mutant (rope_kv): min(15u, => min(16u,
        word |= min(15u, u32(value_at(first + j) * factor + 8.5)) << (8u * j);
    }
    return word;
}

// Element i of a row.
fn packed_element(i: u32) -> CacheElement {
    if i >= 4u * BLOCKS {
        return packed_scales(2u * (i - 4u * BLOCKS));
    }
    let factor = reciprocal(block_scale(i / 4u));
    return nibbles_of(8u * i, factor) | (nibbles_of(8u * i + 4u, factor) << 4u);
}
