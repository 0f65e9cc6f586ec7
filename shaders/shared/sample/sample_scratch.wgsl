// What the sampling kernels pass on, SCRATCH_WORDS for every output of the pass; see kernels/sample.rs. The kernel
// declares LENGTH, SEGMENTS and WG_SIZE = 256, binds `scratch`, `options` (by sequence) and `logits` (by output), and
// calls `begin_output` first.
//
// A logit's distance from the largest is its depth, and its key the depth in units of 2^-19, in 24 bits; above a
// temperature of 1 the units grow with it. So a logit whose odds against the largest are below e^-32 is never drawn.
// The histogram counts keys by their upper byte, with sums of probabilities in 64-bit fixed
// point: atomics have no floats, and 32 bits would lose a long flat tail.
const COUNTS_AT = 0u;       // [BINS]
const LOW_AT = 256u;        // [BINS] sums, low words
const HIGH_AT = 512u;       // [BINS] sums, high words
const CANDIDATES = 768u;    // how many candidates there are
const LARGEST_AT = 784u;    // [SEGMENTS] of (bits of the value, index): the largest penalised logits
override DRAWN_AT: u32 = LARGEST_AT + 2u * SEGMENTS;  // [SEGMENTS], the same with noise
override FALLBACK_AT: u32 = DRAWN_AT + 2u * SEGMENTS; // [SEGMENTS], the same of all that a mask allows
override LIST_AT: u32 = FALLBACK_AT + 2u * SEGMENTS;  // [LENGTH]: indices of candidates
override SCRATCH_WORDS: u32 = LIST_AT + LENGTH;

const BINS = 256u;
const DEEPEST = 0xffffffu;

var<private> logits_at: u32;  // where those of the output begin
var<private> scratch_at: u32;
var<private> units: f32;      // of a key in a depth of 1

fn begin_output(output: u32) {
    // mutant (penalties): output * LENGTH => 0u
    logits_at = output * LENGTH;
    // mutant (sample): output * SCRATCH_WORDS => 0u
    scratch_at = output * SCRATCH_WORDS;
}

fn begin_sequence(sequence: u32) {
    // mutant (sample, sample_candidates): max(1.0, options[sequence].temperature) => 1.0
    units = 524288.0 / max(1.0, options[sequence].temperature);
}

fn depth_key(depth: f32) -> u32 {
    let key = depth * units;
    // mutant (sample_histogram): if key < 16777216.0 { => if key < 8388608.0 {
    if key < 16777216.0 {
        return u32(key);
    }
    return DEEPEST;
}

// The best of the partial argmaxes from word `at` on.
fn best_of(at: u32, lane: u32) -> PartialArgmax {
    var best = PartialArgmax(LOWEST, 0xffffffffu);
    // mutant (sample): i < SEGMENTS; i += WG_SIZE => i + 1u < SEGMENTS; i += WG_SIZE
    for (var i = lane; i < SEGMENTS; i += WG_SIZE) {
        let word = scratch_at + at + 2u * i;
        best = better(best, PartialArgmax(bitcast<f32>(atomicLoad(&scratch[word])), atomicLoad(&scratch[word + 1u])));
    }
    return workgroup_best(best, lane);
}

fn keep_best(at: u32, segment: u32, best: PartialArgmax) {
    let word = scratch_at + at + 2u * segment;
    atomicStore(&scratch[word], bitcast<u32>(best.value));
    // mutant (penalties, sample_candidates): word + 1u], best.index => word + 1u], segment
    atomicStore(&scratch[word + 1u], best.index);
}

// A number in (0, 1) for this step and index: pcg4d (Jarzynski and Olano 2020), the twin of src/sampler.
fn uniform_noise(sequence: u32, step: u32, index: u32) -> f32 {
    let seed = vec2<u32>(options[sequence].seed_low, options[sequence].seed_high);
    // mutant (sample, sample_candidates): seed.x, seed.y => seed.x, seed.x
    var v = vec4<u32>(seed.x, seed.y, step, index) * 1664525u + 1013904223u;
    v.x += v.y * v.w; v.y += v.z * v.x; v.z += v.x * v.y; v.w += v.y * v.z;
    // mutant (sample, sample_candidates): v ^= v >> vec4<u32>(16u); =>
    v ^= v >> vec4<u32>(16u);
    v.x += v.y * v.w; v.y += v.z * v.x; v.z += v.x * v.y; v.w += v.y * v.z;
    return (f32(v.x >> 9u) + 0.5) / 8388608.0;
}

// Gumbel noise, -log(-log(u)) for u = 1 - rest. WGSL lets log be off by 2^-21 near 1, where -log(u) may be less than
// that: there it is a series, as in src/sampler.
fn gumbel(rest: f32) -> f32 {
    let z = rest / (2.0 - rest);
    let s = z * z;
    // mutant (sample_candidates): = 2.0 * z => = z
    let near_one = 2.0 * z * (1.0 + s * (1.0 / 3.0 + s * (1.0 / 5.0 + s / 7.0)));
    // mutant (sample_candidates): near_one, rest < 0.25 => near_one, rest < 0.0
    return -log(select(-log(1.0 - rest), near_one, rest < 0.25));
}

// A logit with the noise of the draw (Gumbel-max; Maddison et al. 2014, arXiv 1411.0030).
fn drawn(sequence: u32, logit: f32, step: u32, index: u32) -> PartialArgmax {
    let noise = gumbel(1.0 - uniform_noise(sequence, step, index));
    return PartialArgmax(logit / options[sequence].temperature + noise, index);
}
