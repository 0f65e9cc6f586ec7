// Combines the partial argmaxes of `argmax` and commits the best as the next token: greedy decoding. One workgroup per
// output of the pass.

#import pass

override WG_SIZE: u32 = 256;
override SEGMENTS: u32;

struct Params {
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> partial_argmaxes: array<vec2<u32>>; // [outputs, SEGMENTS]: value, index
@group(0) @binding(2) var<storage, read> stops: array<u32>;            // length, then end-of-generation ids
@group(0) @binding(3) var<storage, read_write> this_pass: Pass;

#import partial_argmax
#import commit

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    var best = PartialArgmax(LOWEST, 0xffffffffu);
    // mutant: i < SEGMENTS; => i < min(SEGMENTS, WG_SIZE);
    for (var i = lane; i < SEGMENTS; i += WG_SIZE) {
        // mutant: group.x * SEGMENTS + i => i
        let partial = partial_argmaxes[group.x * SEGMENTS + i];
        best = better(best, PartialArgmax(bitcast<f32>(partial.x), partial.y));
    }
    best = workgroup_best(best, lane);
    // mutant: && !is_done(group.x) =>
    if lane == 0u && !is_done(group.x) {
        // Where every logit is NaN there is no best: the id that is written is out of range, which the host reports.
        commit(group.x, best.index);
    }
}
