// Heads that attention_decode keeps until its first tile, and their rotation (Su et al. 2021, arXiv 2104.09864): in
// `columns` the heads as they are, queries first, then k and v; in `scores` sines and cosines. The kernel declares
// ROPE_DIMS and SPLIT_HALF.

fn staged(eight: u32, d: u32) -> f32 {
    let values = columns[eight + d / 8u];
    // mutant (attention_decode): (d & 4u) != 0u => (d & 8u) != 0u
    return select(values.low[d % 4u], values.high[d % 4u], (d & 4u) != 0u);
}

// Value d of the head that starts at this eight, after its rotation.
fn rotated(eight: u32, d: u32) -> f32 {
    let value = staged(eight, d);
    if d >= ROPE_DIMS {
        return value;
    }
    let half = ROPE_DIMS / 2u;
    // mutant (attention_decode): d >= half, SPLIT_HALF); => d > half, SPLIT_HALF);
    let second = select((d & 1u) == 1u, d >= half, SPLIT_HALF);
    let pair = select(d / 2u, select(d, d - half, second), SPLIT_HALF);
    let other = staged(eight, select(d ^ 1u, select(d + half, d - half, second), SPLIT_HALF));
    let turn = vec2<f32>(scores[2u * pair], scores[2u * pair + 1u]);
    // mutant (attention_decode): select(-other, other, second) => other
    return value * turn.y + select(-other, other, second) * turn.x;
}

fn rotated_eight(eight: u32, i: u32, factor: f32) -> Eight {
    var turned: Eight;
    for (var j = 0u; j < 4u; j++) {
        turned.low[j] = rotated(eight, 8u * i + j) * factor;
        turned.high[j] = rotated(eight, 8u * i + 4u + j) * factor;
    }
    return turned;
}
