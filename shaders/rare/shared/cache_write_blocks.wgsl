// The values of a row of a cache that is quantised in blocks of 32. The kernel keeps them in `head_row`.

fn value_at(i: u32) -> f32 {
    return select(0.0, head_row[min(i, HEAD_DIM - 1u)], i < HEAD_DIM);
}

// The value farthest from 0 in a block: the first of them.
fn extreme(block: u32) -> f32 {
    var found = 0.0;
    for (var i = 0u; i < 32u; i++) {
        let value = value_at(32u * block + i);
        // mutant (rope_kv): abs(value) > abs(found) => value > found
        if abs(value) > abs(found) {
            found = value;
        }
    }
    return found;
}

// 1 / scale, 0 for a block of zeros.
fn reciprocal(scale: f32) -> f32 {
    if scale == 0.0 {
        return 0.0;
    }
    return 1.0 / scale;
}

// The scales of a block and of the next as f16.
fn packed_scales(block: u32) -> u32 {
    // mutant (rope_kv): block_scale(block + 1u) => block_scale(block)
    return pack2x16float(vec2<f32>(block_scale(block), block_scale(block + 1u)));
}
