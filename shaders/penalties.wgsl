// Repetition, frequency and presence penalties on the logits, in place, and the largest of every segment of CHUNK.
// One workgroup computes one segment. First of the four kernels of sampling.

override WG_SIZE: u32 = 256;
override CHUNK: u32 = 2048;
override LENGTH: u32;
override SEGMENTS: u32;

struct Params {
    unused: u32,
}

#import sample_options

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> options: Options;
@group(0) @binding(2) var<storage, read> counts: array<u32>;                // [LENGTH]; bit 31: in the prompt
@group(0) @binding(3) var<storage, read_write> logits: array<f32>;          // [LENGTH]
@group(0) @binding(4) var<storage, read_write> scratch: array<atomic<u32>>; // see sample_scratch

#import partial_argmax
#import sample_scratch

// `counts` holds how often an id stands in the answer, and this bit where it stands in the prompt.
const IN_PROMPT: u32 = 0x80000000u;

fn penalise(logit: f32, count: u32) -> f32 {
    if count == 0u {
        return logit;
    }
    // mutant: count & ~IN_PROMPT => count
    let times = count & ~IN_PROMPT;
    // mutant: logit > 0.0) => logit < 0.0)
    let scaled = select(logit * options.repetition_penalty, logit / options.repetition_penalty, logit > 0.0);
    // mutant: times > 0u => count > 0u
    let presence = select(0.0, options.presence_penalty, times > 0u);
    return scaled - f32(times) * options.frequency_penalty - presence;
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    // mutant: min((group.x + 1u) * CHUNK, LENGTH) => (group.x + 1u) * CHUNK
    let end = min((group.x + 1u) * CHUNK, LENGTH);
    var best = PartialArgmax(LOWEST, 0xffffffffu);
    for (var i = group.x * CHUNK + lane; i < end; i += WG_SIZE) {
        let value = penalise(logits[i], counts[i]);
        logits[i] = value;
        // mutant: value, i => logits[i] + 0.0, i - group.x * CHUNK
        best = better(best, PartialArgmax(value, i));
    }
    best = workgroup_best(best, lane);
    if lane == 0u {
        keep_best(LARGEST_AT, group.x, best);
    }
}
