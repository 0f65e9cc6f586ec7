// The filters of sampling, exact among the candidates: each is the largest key that is kept, found a byte at a time
// through histograms of sample_bins.
fn candidate(i: u32) -> u32 {
    return min(atomicLoad(&scratch[scratch_at + LIST_AT + i]), LENGTH - 1u);
}

// The smallest key at which `goal` (a count, or a share of the sum) is reached among keys up to `limit`. The first
// filter starts from the histogram of all logits.
fn cut(sequence: u32, limit: u32, by_count: bool, is_first: bool, highest: f32, lane: u32) -> u32 {
    // mutant (sample): top_k) => top_k) + 1.0
    let goal = select(options[sequence].top_p, f32(options[sequence].top_k), by_count);
    let length = min(atomicLoad(&scratch[scratch_at + CANDIDATES]), LENGTH);
    var prefix = 0u;
    for (var level = 0u; level < 3u; level++) {
        let shift = 16u - 8u * level;
        if level == 0u && is_first {
            load_bins(lane);
        } else {
            clear_bins(lane);
            workgroupBarrier();
            for (var i = lane; i < length; i += WG_SIZE) {
                let depth = highest - logits[logits_at + candidate(i)];
                let key = depth_key(depth);
                // mutant (sample): key >> (shift + 8u) == prefix => key >> shift == prefix
                // mutant (sample): if key <= limit && (level => if (level
                if key <= limit && (level == 0u || key >> (shift + 8u) == prefix) {
                    add_to_bin((key >> shift) & 255u, depth);
                }
            }
        }
        workgroupBarrier();
        choose_bin(level, by_count, goal, lane);
        prefix = (prefix << 8u) | found_bin;
        workgroupBarrier();
    }
    return min(prefix, limit);
}
