// Writes a row of a cache of Q8_0; see cache_q8_0. The numbers are those of ggml's quantize_row_q8_0_ref.
#import cache_write_blocks

fn block_scale(block: u32) -> f32 {
    return abs(extreme(block)) / 127.0;
}

// Four values as signed bytes, halves rounded away from zero.
fn bytes_of(first: u32, factor: f32) -> u32 {
    var word = 0u;
    for (var j = 0u; j < 4u; j++) {
        let x = value_at(first + j) * factor;
        // mutant (rope_kv): + 0.5 => + 0.0
        let quant = sign(x) * floor(abs(x) + 0.5);
        word |= (bitcast<u32>(i32(quant)) & 255u) << (8u * j);
    }
    return word;
}

// Element i of a row.
fn packed_element(i: u32) -> CacheElement {
    if i >= 4u * BLOCKS {
        let block = 4u * (i - 4u * BLOCKS);
        // mutant (rope_kv): packed_scales(block + 2u) => packed_scales(block + 1u)
        return CacheElement(packed_scales(block), packed_scales(block + 2u));
    }
    let factor = reciprocal(block_scale(i / 4u));
    // mutant (rope_kv): 8u * i + 4u => 8u * i
    return CacheElement(bytes_of(8u * i, factor), bytes_of(8u * i + 4u, factor));
}
