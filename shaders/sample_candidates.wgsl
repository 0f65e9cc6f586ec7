// With top-k or top-p: the indices of all logits down to the histogram bin in which the first of the two filters ends.
// Without: the best logit of every segment after temperature and noise. One workgroup computes one segment of CHUNK.
// Third of the four kernels of sampling.

#import state

override WG_SIZE: u32 = 256;
override CHUNK: u32 = 2048;
override LENGTH: u32;
override SEGMENTS: u32;

struct Params {
    unused: u32,
}

#import sample_options

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> state: State;
@group(0) @binding(2) var<storage, read> options: Options;
@group(0) @binding(3) var<storage, read> logits: array<f32>;                // [LENGTH], penalised
@group(0) @binding(4) var<storage, read_write> scratch: array<atomic<u32>>; // see sample_scratch

#import partial_argmax
#import sample_scratch
#import sample_bins

var<workgroup> taken: atomic<u32>; // places of this workgroup's candidates
var<workgroup> begin: u32;         // the first of them in the list

fn draw(group: u32, highest: f32, lane: u32) {
    // mutant: let limit = least_key(); => let limit = DEEPEST;
    let limit = least_key();
    let end = min((group + 1u) * CHUNK, LENGTH);
    var best = PartialArgmax(LOWEST, 0xffffffffu);
    for (var i = group * CHUNK + lane; i < end; i += WG_SIZE) {
        if depth_key(highest - logits[i]) <= limit {
            // mutant: drawn(logits[i], state.steps, i) => drawn(logits[i], state.steps, i - group * CHUNK)
            best = better(best, drawn(logits[i], state.steps, i));
        }
    }
    best = workgroup_best(best, lane);
    if lane == 0u {
        keep_best(DRAWN_AT, group, best);
    }
}

fn collect(group: u32, highest: f32, lane: u32) {
    load_bins(lane);
    workgroupBarrier();
    let by_count = options.top_k > 0u;
    // mutant: select(options.top_p, f32(options.top_k), by_count) => options.top_p
    choose_bin(0u, by_count, select(options.top_p, f32(options.top_k), by_count), lane);
    let last = found_bin;
    let end = min((group + 1u) * CHUNK, LENGTH);
    var count = 0u;
    for (var i = group * CHUNK + lane; i < end; i += WG_SIZE) {
        let key = depth_key(highest - logits[i]);
        count += select(0u, 1u, key < DEEPEST && key >> 16u <= last);
    }
    var at = atomicAdd(&taken, count);
    workgroupBarrier();
    if lane == 0u {
        begin = atomicAdd(&scratch[CANDIDATES], atomicLoad(&taken));
    }
    workgroupBarrier();
    for (var i = group * CHUNK + lane; i < end; i += WG_SIZE) {
        let key = depth_key(highest - logits[i]);
        // mutant: if key < DEEPEST && key >> 16u <= last => if key < DEEPEST && key >> 16u < last
        if key < DEEPEST && key >> 16u <= last {
            // mutant: LIST_AT + begin + at => LIST_AT + at
            atomicStore(&scratch[LIST_AT + begin + at], i);
            at += 1u;
        }
    }
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    if options.temperature == 0.0 {
        return;
    }
    let highest = best_of(LARGEST_AT, lane).value;
    workgroupBarrier();
    if has_filters() {
        collect(group.x, highest, lane);
    } else {
        draw(group.x, highest, lane);
    }
}
