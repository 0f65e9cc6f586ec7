// Counts and sums of probabilities of all logits by the upper byte of their keys, where top-k or top-p ask for them.
// One workgroup adds one segment of CHUNK of one output of the pass. Second of the four kernels of sampling.

override WG_SIZE: u32 = 256;
override CHUNK: u32 = 2048;
override LENGTH: u32;
override SEGMENTS: u32;

struct Params {
    unused: u32,
}

#import pass
#import sample_options

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> options: array<Options>;           // [sequences]
@group(0) @binding(3) var<storage, read> logits: array<f32>;                // [outputs, LENGTH], penalised
@group(0) @binding(4) var<storage, read_write> scratch: array<atomic<u32>>; // see sample_scratch

#import partial_argmax
#import sample_scratch
#import sample_bins

// Adds this workgroup's bin to the histogram of all.
fn add_bin(bin: u32) {
    let count = atomicLoad(&bin_counts[bin]);
    if count == 0u {
        return;
    }
    // mutant: COUNTS_AT + bin], count => COUNTS_AT + bin], 1u
    atomicAdd(&scratch[scratch_at + COUNTS_AT + bin], count);
    let low = atomicLoad(&bin_low[bin]);
    let before = atomicAdd(&scratch[scratch_at + LOW_AT + bin], low);
    // mutant: select(0u, 1u, before + low < before) => 0u
    atomicAdd(&scratch[scratch_at + HIGH_AT + bin], atomicLoad(&bin_high[bin]) + select(0u, 1u, before + low < before));
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    begin_output(group.y);
    let sequence = this_pass.row[this_pass.rows - this_pass.outputs + group.y].sequence;
    begin_sequence(sequence);
    if !has_filters(sequence) || options[sequence].temperature == 0.0 {
        return;
    }
    clear_bins(lane);
    let highest = best_of(LARGEST_AT, lane).value;
    // mutant: min((group.x + 1u) * CHUNK, LENGTH) => (group.x + 1u) * CHUNK
    let end = min((group.x + 1u) * CHUNK, LENGTH);
    for (var i = group.x * CHUNK + lane; i < end; i += WG_SIZE) {
        let depth = highest - logits[logits_at + i];
        let key = depth_key(depth);
        // mutant: if key < DEEPEST { => if key <= DEEPEST {
        if key < DEEPEST {
            add_to_bin(key >> 16u, depth);
        }
    }
    workgroupBarrier();
    add_bin(lane);
}
