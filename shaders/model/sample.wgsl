// Ends the filters exactly among the candidates, draws, and commits the token. One workgroup per output of the pass.
// Last of the four kernels of sampling.
//
// A filter is the smallest key at which a count (top-k) or a sum of probabilities (top-p) is reached, found a byte at
// a time through histograms; logits whose keys are equal stay or go together. The filters look at all ids, the draw at
// those that the mask allows: where none of what the filters keep is allowed, at all that are. The twin of
// src/sampler.

#import pass

override WG_SIZE: u32 = 256;
override LENGTH: u32;
override SEGMENTS: u32;

struct Params {
    unused: u32,
}

#import sample_options

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> options: array<Options>;           // [sequences]
@group(0) @binding(2) var<storage, read> logits: array<f32>;                // [outputs, LENGTH], penalised
@group(0) @binding(3) var<storage, read> stops: array<u32>;                 // length, then end-of-generation ids
@group(0) @binding(4) var<storage, read> mask: array<u32>;                 // [sequences, 1 + MASK_WORDS]
@group(0) @binding(5) var<storage, read_write> scratch: array<atomic<u32>>; // see sample_scratch; left as it is wanted
@group(0) @binding(6) var<storage, read_write> counts: array<u32>;          // [sequences, LENGTH]
@group(0) @binding(7) var<storage, read_write> this_pass: Pass;

#import mask
#import partial_argmax
#import sample_scratch
#import sample_bins
#import sample_filters
#import rows_before
#import commit

var<workgroup> shared_sequence: u32;

fn draw(sequence: u32, output: u32, highest: f32, lane: u32) -> PartialArgmax {
    var limit = DEEPEST - 1u;
    // The first filter that is not typical-p starts from the histogram of all logits.
    var is_first = true;
    for (var filter_by = TOP_K; filter_by <= TOP_P; filter_by++) {
        if !has_filter(sequence, filter_by) {
            continue;
        }
        if filter_by == TYPICAL_P {
            find_mean_depth(limit, highest, lane);
        }
        // mutant: is_first && filter_by != TYPICAL_P, => filter_by != TYPICAL_P,
        let found = cut(sequence, limit, filter_by, is_first && filter_by != TYPICAL_P, highest, lane);
        if filter_by == TYPICAL_P {
            typical_limit = found;
        } else {
            limit = min(limit, found);
        }
        is_first = false;
    }
    let above = highest - highest_kept(sequence, limit, highest, lane);
    // mutant: limit = min(limit, least_key(sequence, above)); =>
    limit = min(limit, least_key(sequence, above));
    let length = min(atomicLoad(&scratch[scratch_at + CANDIDATES]), LENGTH);
    let steps = steps_of(sequence, output);
    var best = PartialArgmax(LOWEST, 0xffffffffu);
    for (var i = lane; i < length; i += WG_SIZE) {
        let index = candidate(i);
        let logit = logits[logits_at + index];
        // mutant: is_kept(highest - logit, limit) && is_allowed(sequence, index) => is_kept(highest - logit, limit)
        if is_kept(highest - logit, limit) && is_allowed(sequence, index) {
            best = better(best, drawn(sequence, logit, steps, index));
        }
    }
    return workgroup_best(best, lane);
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    begin_output(group.x);
    if lane == 0u {
        shared_sequence = this_pass.row[row_of(group.x)].sequence;
    }
    let sequence = workgroupUniformLoad(&shared_sequence);
    begin_sequence(sequence);
    var best = best_of(LARGEST_AT, lane);
    workgroupBarrier();
    if options[sequence].temperature > 0.0 {
        if has_filters(sequence) {
            best = draw(sequence, group.x, best.value, lane);
        } else {
            best = best_of(DRAWN_AT, lane);
        }
        workgroupBarrier();
        let fallback = best_of(FALLBACK_AT, lane);
        // mutant: if best.index >= LENGTH && is_masked(sequence) { => if false {
        if best.index >= LENGTH && is_masked(sequence) {
            best = fallback;
        }
    }
    storageBarrier();
    // The next token's histogram starts empty.
    // mutant: i <= CANDIDATES; => i < CANDIDATES;
    for (var i = lane; i <= CANDIDATES; i += WG_SIZE) {
        atomicStore(&scratch[scratch_at + i], 0u);
    }
    // mutant: && !is_done(group.x) =>
    if lane == 0u && !is_done(group.x) {
        // mutant: COMMITS && best.index < LENGTH => best.index < LENGTH
        // mutant: best.index < LENGTH { => best.index != LENGTH {
        if COMMITS && best.index < LENGTH {
            // mutant: + best.index] += 1u; => + best.index] = 1u;
            // mutant: sequence * LENGTH + best.index => best.index
            counts[sequence * LENGTH + best.index] += 1u;
        }
        commit(group.x, best.index);
    }
}
