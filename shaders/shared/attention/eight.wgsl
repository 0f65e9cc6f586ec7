// Eight values of a head at a time: how attention reads queries, keys and values. The kernel binds `q` and declares
// HEAD_DIM; how a cache holds eight is in cache_f16 and its like.
struct Eight {
    low: vec4<f32>,
    high: vec4<f32>,
}

fn dot_eight(a: Eight, b: Eight) -> f32 {
    return dot(a.low, b.low) + dot(a.high, b.high);
}

// The eight values of index `i` in the row of q that starts at `row`.
fn load_q(row: u32, i: u32) -> Eight {
    var eight: Eight;
    for (var j = 0u; j < 4u; j++) {
        let at = 8u * i + j;
        eight.low[j] = select(0.0, q[row + min(at, HEAD_DIM - 1u)], at < HEAD_DIM);
        // mutant (attention, attention_decode): , at + 4u => , at + 5u
        eight.high[j] = select(0.0, q[row + min(at + 4u, HEAD_DIM - 1u)], at + 4u < HEAD_DIM);
    }
    return eight;
}
