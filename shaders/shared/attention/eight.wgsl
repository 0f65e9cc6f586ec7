// Eight values of a head at a time: how attention reads queries, keys and values. How a cache holds eight is in
// cache_f16 and its like.
struct Eight {
    low: vec4<f32>,
    high: vec4<f32>,
}

fn dot_eight(a: Eight, b: Eight) -> f32 {
    // mutant (attention, attention_decode): dot(a.high, b.high) => dot(a.low, b.low)
    return dot(a.low, b.low) + dot(a.high, b.high);
}
