// With top-k, typical-p or top-p: the indices of all logits down to the histogram bin in which the first of these ends.
// Without: the best logit of every segment after temperature and noise. Under a mask also the best that it allows,
// whatever the filters say. One workgroup computes one segment of CHUNK of one output of the pass.
// Third of the four kernels of sampling.

#import pass

override WG_SIZE: u32 = 256;
override CHUNK: u32 = 2048;
override LENGTH: u32;
override SEGMENTS: u32;

struct Params {
    unused: u32,
}

#import sample_options

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> options: array<Options>;           // [sequences]
@group(0) @binding(3) var<storage, read> logits: array<f32>;                // [outputs, LENGTH], penalised
@group(0) @binding(4) var<storage, read> mask: array<u32>;                 // [sequences, 1 + MASK_WORDS]
@group(0) @binding(5) var<storage, read_write> scratch: array<atomic<u32>>; // see sample_scratch

#import mask
#import partial_argmax
#import sample_scratch
#import sample_bins
#import rows_before

var<workgroup> taken: atomic<u32>; // places of this workgroup's candidates
var<workgroup> begin: u32;         // the first of them in the list

// Keeps the best allowed logit of the segment after temperature and noise, among those down to `limit`.
fn draw(at: u32, limit: u32, sequence: u32, group: vec3<u32>, highest: f32, lane: u32) {
    let steps = steps_of(sequence, group.y);
    let end = min((group.x + 1u) * CHUNK, LENGTH);
    var best = PartialArgmax(LOWEST, 0xffffffffu);
    for (var i = group.x * CHUNK + lane; i < end; i += WG_SIZE) {
        let is_kept = depth_key(highest - logits[logits_at + i]) <= limit;
        // mutant: is_kept && is_allowed(sequence, i) => is_kept
        if is_kept && is_allowed(sequence, i) {
            // mutant: steps, i) => steps, i - group.x * CHUNK)
            best = better(best, drawn(sequence, logits[logits_at + i], steps, i));
        }
    }
    best = workgroup_best(best, lane);
    if lane == 0u {
        keep_best(at, group.x, best);
    }
}

fn collect(sequence: u32, group: u32, highest: f32, lane: u32) {
    load_bins(lane);
    workgroupBarrier();
    let by_count = options[sequence].top_k > 0u;
    let top_k = f32(options[sequence].top_k);
    let top_p = options[sequence].top_p;
    // mutant: select(top_p, top_k, by_count) => top_p
    choose_bin(0u, by_count, select(top_p, top_k, by_count), lane);
    // Typical-p comes before top-p: without top-k it looks at all logits.
    // mutant: select(BINS, found_bin, by_count || options[sequence].typical_p >= 1.0) => found_bin
    let last = select(BINS, found_bin, by_count || options[sequence].typical_p >= 1.0);
    let end = min((group + 1u) * CHUNK, LENGTH);
    var count = 0u;
    for (var i = group * CHUNK + lane; i < end; i += WG_SIZE) {
        let key = depth_key(highest - logits[logits_at + i]);
        count += select(0u, 1u, key < DEEPEST && key >> 16u <= last);
    }
    var at = atomicAdd(&taken, count);
    workgroupBarrier();
    if lane == 0u {
        begin = atomicAdd(&scratch[scratch_at + CANDIDATES], atomicLoad(&taken));
    }
    workgroupBarrier();
    for (var i = group * CHUNK + lane; i < end; i += WG_SIZE) {
        let key = depth_key(highest - logits[logits_at + i]);
        // mutant: if key < DEEPEST && key >> 16u <= last => if key < DEEPEST && key >> 16u < last
        if key < DEEPEST && key >> 16u <= last {
            // mutant: LIST_AT + begin + at => LIST_AT + at
            atomicStore(&scratch[scratch_at + LIST_AT + begin + at], i);
            at += 1u;
        }
    }
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    begin_output(group.y);
    let sequence = this_pass.row[this_pass.rows - this_pass.outputs + group.y].sequence;
    begin_sequence(sequence);
    if options[sequence].temperature == 0.0 {
        return;
    }
    let highest = best_of(LARGEST_AT, lane).value;
    workgroupBarrier();
    if has_filters(sequence) {
        collect(sequence, group.x, highest, lane);
    } else {
        // mutant: least_key(sequence, 0.0), => DEEPEST,
        draw(DRAWN_AT, least_key(sequence, 0.0), sequence, group, highest, lane);
    }
    workgroupBarrier();
    // mutant: if is_masked(sequence) { => if false {
    if is_masked(sequence) {
        draw(FALLBACK_AT, DEEPEST, sequence, group, highest, lane);
    }
}
