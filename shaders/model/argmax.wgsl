// The largest value and its index (the lowest, among equals) of every segment of CHUNK logits; argmax_merge
// combines the segments. Only ids that the mask allows count. One workgroup computes one segment of one output of the
// pass.

override WG_SIZE: u32 = 256;
override CHUNK: u32 = 2048;
override LENGTH: u32;

override SEGMENTS: u32 = (LENGTH + CHUNK - 1u) / CHUNK;

struct Params {
    unused: u32,
}

#import pass

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> mask: array<u32>;                 // [sequences, 1 + MASK_WORDS]
@group(0) @binding(3) var<storage, read> logits: array<f32>;               // [outputs, LENGTH]
@group(0) @binding(4) var<storage, read_write> partial_argmaxes: array<vec2<u32>>; // [outputs, SEGMENTS]: value, index

#import partial_argmax
#import mask

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    // mutant: this_pass.rows - this_pass.outputs => 0u
    let sequence = this_pass.row[this_pass.rows - this_pass.outputs + group.y].sequence;
    // mutant: min((group.x + 1u) * CHUNK, LENGTH) => (group.x + 1u) * CHUNK
    let end = min((group.x + 1u) * CHUNK, LENGTH);
    var best = PartialArgmax(LOWEST, 0xffffffffu);
    for (var i = group.x * CHUNK + lane; i < end; i += WG_SIZE) {
        // mutant: + i], i) => + i], i - group.x * CHUNK)
        // mutant: group.y * LENGTH + i => i
        let mine = PartialArgmax(logits[group.y * LENGTH + i], i);
        if is_allowed(sequence, i) {
            best = better(best, mine);
        }
    }
    best = workgroup_best(best, lane);
    if lane == 0u {
        // mutant: group.y * SEGMENTS + group.x => group.x
        partial_argmaxes[group.y * SEGMENTS + group.x] = vec2<u32>(bitcast<u32>(best.value), best.index);
    }
}
