// The filters of sampling, exact among the candidates: each is the largest key that is kept, found a byte at a time
// through histograms of sample_bins.
//
// Typical-p keeps the tokens whose information is nearest to the mean until their probabilities reach a share (Meister
// et al. 2022, arXiv 2202.00666). The information of a token is its depth plus a constant that is the same for all, so
// its distance from the mean is that of its depth from the mean depth.
var<workgroup> typical_sums: array<vec2<f32>, BINS>; // probabilities, and their products with depths

var<private> mean_depth: f32;
var<private> typical_limit: u32 = DEEPEST; // the largest key of a distance that is kept

fn distance_key(depth: f32) -> u32 {
    return depth_key(abs(depth - mean_depth));
}

fn candidate(i: u32) -> u32 {
    return min(atomicLoad(&scratch[scratch_at + LIST_AT + i]), LENGTH - 1u);
}

const TOP_K = 0u;
const TYPICAL_P = 1u;
const TOP_P = 2u;

fn has_filter(sequence: u32, filter_by: u32) -> bool {
    switch filter_by {
        case TOP_K { return options[sequence].top_k > 0u; }
        case TYPICAL_P { return options[sequence].typical_p < 1.0; }
        default { return options[sequence].top_p < 1.0; }
    }
}

fn goal_of(filter_by: u32, sequence: u32) -> f32 {
    switch filter_by {
        // mutant (sample): top_k); => top_k) + 1.0;
        case TOP_K { return f32(options[sequence].top_k); }
        case TYPICAL_P { return options[sequence].typical_p; }
        default { return options[sequence].top_p; }
    }
}

fn is_kept(depth: f32, limit: u32) -> bool {
    // mutant (sample): depth_key(depth) <= limit && => true &&
    // mutant (sample): && distance_key(depth) <= typical_limit =>
    return depth_key(depth) <= limit && distance_key(depth) <= typical_limit;
}

// The smallest key at which a filter's goal (a count, or a share of the sum) is reached among what is kept so far. The
// first filter, unless it is typical-p, starts from the histogram of all logits.
fn cut(sequence: u32, limit: u32, filter_by: u32, is_first: bool, highest: f32, lane: u32) -> u32 {
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
                let key = select(depth_key(depth), distance_key(depth), filter_by == TYPICAL_P);
                // mutant (sample): key >> (shift + 8u) == prefix => key >> shift == prefix
                // mutant (sample): if is_kept(depth, limit) && (level => if (level
                if is_kept(depth, limit) && (level == 0u || key >> (shift + 8u) == prefix) {
                    add_to_bin((key >> shift) & 255u, depth);
                }
            }
        }
        workgroupBarrier();
        choose_bin(level, filter_by == TOP_K, goal_of(filter_by, sequence), lane);
        prefix = (prefix << 8u) | found_bin;
        workgroupBarrier();
    }
    return prefix;
}

fn find_mean_depth(limit: u32, highest: f32, lane: u32) {
    let length = min(atomicLoad(&scratch[scratch_at + CANDIDATES]), LENGTH);
    var sums = vec2<f32>();
    for (var i = lane; i < length; i += WG_SIZE) {
        let depth = highest - logits[logits_at + candidate(i)];
        if depth_key(depth) <= limit {
            sums += exp(-depth) * vec2<f32>(1.0, depth);
        }
    }
    take_mean_depth(sums, lane);
}

// Sets `mean_depth` from the sums of every thread.
fn take_mean_depth(mine: vec2<f32>, lane: u32) {
    typical_sums[lane] = mine;
    workgroupBarrier();
    for (var half = BINS / 2u; half > 0u; half /= 2u) {
        if lane < half {
            typical_sums[lane] += typical_sums[lane + half];
        }
        workgroupBarrier();
    }
    mean_depth = typical_sums[0].y / typical_sums[0].x;
    workgroupBarrier();
}

// The largest logit that is kept: the largest of all, unless typical-p leaves that out.
fn highest_kept(sequence: u32, limit: u32, highest: f32, lane: u32) -> f32 {
    if options[sequence].typical_p >= 1.0 {
        return highest;
    }
    let length = min(atomicLoad(&scratch[scratch_at + CANDIDATES]), LENGTH);
    var best = PartialArgmax(LOWEST, 0xffffffffu);
    for (var i = lane; i < length; i += WG_SIZE) {
        let logit = logits[logits_at + candidate(i)];
        if is_kept(highest - logit, limit) {
            best = better(best, PartialArgmax(logit, i));
        }
    }
    let kept = workgroup_best(best, lane).value;
    workgroupBarrier(); // the next maximum is written where this one is read
    return kept;
}
