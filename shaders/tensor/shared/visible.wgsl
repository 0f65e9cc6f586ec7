// Which keys a query attends to, and how scale, soft cap and mask change its scores. The kernel has queries, keys,
// scale, soft_cap, causal, window and the mask's strides in its params, and binds `mask`.
#import lowest

#import soft_cap

// First key that query i attends to, and one past the last.
fn seen(i: u32) -> vec2<u32> {
    // mutant (attention_strided): let sum = i + 1u + params.keys; => let sum = i + 1u + params.queries;
    let sum = i + 1u + params.keys;
    // mutant (attention_strided): sum - min(sum, params.queries) => sum - min(sum, params.queries) + 1u
    let end = select(params.keys, sum - min(sum, params.queries), params.causal != 0u);
    // mutant (attention_strided): end, params.window => end, params.window + 1u
    return vec2<u32>(select(0u, end - min(end, params.window), params.window != 0u), end);
}

// The score of query i and key j with this product; `mask_at` is where the mask of the head starts.
fn admit(product: f32, i: u32, j: u32, mask_at: u32) -> f32 {
    var score = product * params.scale;
    if params.soft_cap != 0.0 {
        score = soft_cap(score, params.soft_cap);
    }
    let keys = seen(i);
    var is_seen = j >= keys.x && j < keys.y;
    if params.masked != 0u {
        // mutant (attention_strided): j * params.mask_key => j
        let added = mask[mask_at + min(i, params.queries - 1u) * params.mask_row + j * params.mask_key];
        // mutant (attention_strided): is_seen && added > -1.0e38 => is_seen
        is_seen = is_seen && added > -1.0e38;
        score += added;
    }
    return select(LOWEST, max(score, -1.0e38), is_seen);
}
