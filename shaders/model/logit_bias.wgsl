// logits[id] += bias, in place, for the few ids that a run has a bias for. One workgroup per output of the pass.

override WG_SIZE: u32 = 64;
override LENGTH: u32;
override MOST: u32; // biases of a sequence, at most

struct Params {
    unused: u32,
}

#import pass

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> biases: array<u32>;       // [sequences, 1 + 2·MOST]: count, then id and bias
@group(0) @binding(3) var<storage, read_write> logits: array<f32>; // [outputs, LENGTH]

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    // mutant: this_pass.rows - this_pass.outputs => 0u
    let sequence = this_pass.row[this_pass.rows - this_pass.outputs + group.x].sequence;
    // mutant: sequence * (1u + 2u * MOST) => 0u
    let at = sequence * (1u + 2u * MOST);
    // mutant: i += WG_SIZE => i += LENGTH
    for (var i = lane; i < min(biases[at], MOST); i += WG_SIZE) {
        let id = biases[at + 1u + 2u * i];
        if id < LENGTH {
            // mutant: group.x * LENGTH + id => id
            logits[group.x * LENGTH + id] += bitcast<f32>(biases[at + 2u + 2u * i]);
        }
    }
}
