// In the place of alibi.wgsl: a learned bias of each head for the distance of a key (Raffel et al. 2019, arXiv
// 1910.10683). Near distances have a bucket each, farther ones share buckets that grow with the logarithm of the
// distance up to 128.

override BUCKETS: u32;    // 4 to 128
override BOTH_WAYS: bool; // half of the buckets are for keys behind the query

@group(0) @binding(7) var<storage, read> by_distance: array<f32>; // [BUCKETS, heads]

var<private> bias_head: u32;

// Notes the head; there is no slope.
fn alibi_slope(head: u32, heads: u32, bias: f32) -> f32 {
    bias_head = head;
    return 0.0;
}

// The bias of a key that is `ahead` positions behind the query in the text; negative: before it.
fn distance_bias(heads: u32, ahead: f32) -> f32 {
    // mutant (attention_batch): BUCKETS / 2u, BOTH_WAYS => BUCKETS, BOTH_WAYS
    let buckets = select(BUCKETS, BUCKETS / 2u, BOTH_WAYS);
    let exact = buckets / 2u;
    let distance = select(max(-ahead, 0.0), abs(ahead), BOTH_WAYS);
    var bucket = u32(distance);
    if bucket >= exact {
        // Where the quotient is whole, rounding must not make it smaller.
        let share = log(distance / f32(exact)) / log(128.0 / f32(exact));
        // mutant (attention_batch, attention_decode): exact + u32 => u32
        bucket = min(exact + u32(share * f32(buckets - exact) + 2e-5), buckets - 1u);
    }
    // mutant (attention_batch): ahead > 0.0 => ahead < 0.0
    bucket += select(0u, buckets, BOTH_WAYS && ahead > 0.0);
    return by_distance[bucket * heads + bias_head];
}
