// Repetition, frequency and presence penalties on the logits, in place, and the largest of every segment of CHUNK. The
// logits of suppressed tokens become so low that nothing takes them. Greedy choice starts from the largest that the
// mask allows, the filters from the largest of all.
// One workgroup computes one segment of one output of the pass. First of the four kernels of sampling.

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
@group(0) @binding(3) var<storage, read> counts: array<u32>;               // [sequences, LENGTH], see below
@group(0) @binding(4) var<storage, read> mask: array<u32>;                 // [sequences, 1 + MASK_WORDS]
@group(0) @binding(5) var<storage, read_write> logits: array<f32>;          // [outputs, LENGTH]
@group(0) @binding(6) var<storage, read_write> scratch: array<atomic<u32>>; // see sample_scratch

#import mask
#import partial_argmax
#import sample_scratch
#import rows_before

// `counts` holds how often an id stands in the answer, and these bits where it stands in the prompt and where it is
// never to be taken.
const IN_PROMPT: u32 = 0x80000000u;
const SUPPRESSED: u32 = 0x40000000u;
const NEVER: f32 = -3.4e38; // below LOWEST

fn penalise(sequence: u32, logit: f32, count: u32) -> f32 {
    let repetition = options[sequence].repetition_penalty;
    if count == 0u {
        return logit;
    }
    // mutant: (count & SUPPRESSED) != 0u => count == SUPPRESSED
    // mutant: (count & SUPPRESSED) != 0u => false
    if (count & SUPPRESSED) != 0u {
        // mutant: NEVER => logit
        return NEVER;
    }
    // mutant: count & ~IN_PROMPT => count
    let times = count & ~IN_PROMPT;
    // mutant: logit > 0.0) => logit < 0.0)
    let scaled = select(logit * repetition, logit / repetition, logit > 0.0);
    // mutant: times > 0u => count > 0u
    let presence = select(0.0, options[sequence].presence_penalty, times > 0u);
    return scaled - f32(times) * options[sequence].frequency_penalty - presence;
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    begin_output(group.y);
    // mutant: this_pass.rows - this_pass.outputs => 0u
    let sequence = this_pass.row[this_pass.rows - this_pass.outputs + group.y].sequence;
    // mutant: min((group.x + 1u) * CHUNK, LENGTH) => (group.x + 1u) * CHUNK
    let end = min((group.x + 1u) * CHUNK, LENGTH);
    var best = PartialArgmax(LOWEST, 0xffffffffu);
    for (var i = group.x * CHUNK + lane; i < end; i += WG_SIZE) {
        // mutant: sequence * LENGTH + i => i
        let count = counts[sequence * LENGTH + i] + times_before(group.y, i);
        let value = penalise(sequence, logits[logits_at + i], count);
        logits[logits_at + i] = value;
        // mutant: options[sequence].temperature > 0.0 || => true ||
        if options[sequence].temperature > 0.0 || is_allowed(sequence, i) {
            // mutant: value, i => value, i - group.x * CHUNK
            best = better(best, PartialArgmax(value, i));
        }
    }
    best = workgroup_best(best, lane);
    if lane == 0u {
        keep_best(LARGEST_AT, group.x, best);
    }
}
