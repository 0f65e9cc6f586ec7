// A histogram in workgroup memory and the bin at which a count, or a sum of probabilities, is reached. One thread has
// one bin: WG_SIZE is BINS.
var<workgroup> bin_counts: array<atomic<u32>, BINS>;
var<workgroup> bin_low: array<atomic<u32>, BINS>;
var<workgroup> bin_high: array<atomic<u32>, BINS>;
var<workgroup> running: array<f32, BINS>; // sums of the bins up to each
var<workgroup> found_bin: u32;
var<workgroup> found_below: f32;          // count or sum of the bins before
var<workgroup> found_target: f32;

fn clear_bins(lane: u32) {
    atomicStore(&bin_counts[lane], 0u);
    atomicStore(&bin_low[lane], 0u);
    // mutant (sample): atomicStore(&bin_high[lane], 0u); =>
    atomicStore(&bin_high[lane], 0u);
}

fn add_to_bin(bin: u32, depth: f32) {
    atomicAdd(&bin_counts[bin], 1u);
    let mass = u32(exp(-depth) * 2147483648.0);
    let before = atomicAdd(&bin_low[bin], mass);
    // mutant (sample, sample_histogram): if before + mass < before { => if before + mass > before {
    if before + mass < before {
        atomicAdd(&bin_high[bin], 1u);
    }
}

// The histogram over all logits.
fn load_bins(lane: u32) {
    atomicStore(&bin_counts[lane], atomicLoad(&scratch[scratch_at + COUNTS_AT + lane]));
    atomicStore(&bin_low[lane], atomicLoad(&scratch[scratch_at + LOW_AT + lane]));
    atomicStore(&bin_high[lane], atomicLoad(&scratch[scratch_at + HIGH_AT + lane]));
}

fn bin_value(bin: u32, by_count: bool) -> f32 {
    if by_count {
        return f32(atomicLoad(&bin_counts[bin]));
    }
    // mutant (sample): * 4294967296.0 =>
    return f32(atomicLoad(&bin_high[bin])) * 4294967296.0 + f32(atomicLoad(&bin_low[bin]));
}

// Finds the first bin at which the running sum reaches the target: `goal` for a count, else that share of the sum of
// all bins. Deeper levels keep the target and continue from the sum of the bins before.
fn choose_bin(level: u32, by_count: bool, goal: f32, lane: u32) {
    let mine = bin_value(lane, by_count);
    running[lane] = mine;
    workgroupBarrier();
    for (var step = 1u; step < BINS; step *= 2u) {
        var sum = running[lane];
        if lane >= step {
            sum += running[lane - step];
        }
        workgroupBarrier();
        running[lane] = sum;
        workgroupBarrier();
    }
    // mutant (sample): select(found_below, 0.0, level == 0u) => 0.0
    let below = select(found_below, 0.0, level == 0u);
    // mutant (sample): select(found_target, select(goal => select(goal, select(goal
    let target_sum = select(found_target, select(goal * running[BINS - 1u], goal, by_count), level == 0u);
    workgroupBarrier();
    var before = below;
    if lane > 0u {
        before += running[lane - 1u];
    }
    // mutant (sample, sample_candidates): below + running[lane] >= target_sum => below + running[lane] > target_sum
    let reached = below + running[lane] >= target_sum;
    // mutant (sample, sample_candidates): || (lane == BINS - 1u && !reached) =>
    if (reached && (lane == 0u || before < target_sum)) || (lane == BINS - 1u && !reached) {
        found_bin = lane;
        found_below = before;
        found_target = target_sum;
    }
    workgroupBarrier();
}
