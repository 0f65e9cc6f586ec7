// Combines the partial argmaxes of `argmax` and commits the best as the next token: greedy decoding. One workgroup.

#import state

override WG_SIZE: u32 = 256;
override SEGMENTS: u32;

struct Params {
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> partial_argmaxes: array<vec2<u32>>;    // [SEGMENTS]: bits of the value, index
@group(0) @binding(2) var<storage, read> stops: array<u32>;            // length, then end-of-generation ids
@group(0) @binding(3) var<storage, read_write> state: State;
@group(0) @binding(4) var<storage, read_write> tokens: array<u32>;     // [0] is the next pass's token

#import partial_argmax
#import commit

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(local_invocation_index) lane: u32) {
    var best = PartialArgmax(LOWEST, 0xffffffffu);
    // mutant: i < SEGMENTS; => i < min(SEGMENTS, WG_SIZE);
    for (var i = lane; i < SEGMENTS; i += WG_SIZE) {
        best = better(best, PartialArgmax(bitcast<f32>(partial_argmaxes[i].x), partial_argmaxes[i].y));
    }
    best = workgroup_best(best, lane);
    // mutant: lane == 0u && state.done == 0u => lane == 0u
    if lane == 0u && state.done == 0u {
        // Where every logit is NaN there is no best: the id that is written is out of range, which the host reports.
        commit(best.index);
    }
}
