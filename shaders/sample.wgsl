// Top-k, top-p and min-p over penalised logits, temperature, one draw, and the commit of the token. One workgroup.
//
// A logit's depth below the largest is a 24-bit key (2^-19 per unit; deeper than 32 is never drawn). A filter is the
// smallest key at which a count (top-k) or a sum of probabilities (top-p) is reached, found a byte at a time
// through histograms; logits whose keys are equal stay or go together. The draw is Gumbel-max (Maddison et al. 2014,
// arXiv 1411.0030) with counter-based noise (pcg4d, Jarzynski & Olano 2020): the twin of src/sampler.rs.

#import state
#import sample_options

override WG_SIZE: u32 = 256;
override LENGTH: u32;
override WINNERS: u32;

struct Params {
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> options: Options;
@group(0) @binding(2) var<storage, read> logits: array<f32>;           // [LENGTH], penalised
@group(0) @binding(3) var<storage, read> winners: array<vec2<u32>>;    // [WINNERS]: bits of the value, index
@group(0) @binding(4) var<storage, read> stops: array<u32>;            // length, then end-of-generation ids
@group(0) @binding(5) var<storage, read_write> counts: array<u32>;     // [LENGTH]
@group(0) @binding(6) var<storage, read_write> state: State;
@group(0) @binding(7) var<storage, read_write> tokens: array<u32>;     // [0] is the next pass's token

#import winner
#import commit

const DEEPEST: u32 = 0xffffffu;
const BINS: u32 = 256u;

var<workgroup> bin_counts: array<atomic<u32>, BINS>;
// Sums of probabilities in 64-bit fixed point: atomics know no floats, and 32 bits lose a long flat tail.
var<workgroup> bin_low: array<atomic<u32>, BINS>;
var<workgroup> bin_high: array<atomic<u32>, BINS>;
var<workgroup> found_prefix: u32;
var<workgroup> found_below: f32;
var<workgroup> found_target: f32;

fn depth_key(depth: f32) -> u32 {
    if depth < 32.0 {
        return u32(depth * 524288.0);
    }
    return DEEPEST;
}

fn add_to_bin(bin: u32, depth: f32) {
    atomicAdd(&bin_counts[bin], 1u);
    let mass = u32(exp(-depth) * 2147483648.0);
    let before = atomicAdd(&bin_low[bin], mass);
    if before + mass < before {
        atomicAdd(&bin_high[bin], 1u);
    }
}

fn bin_value(bin: u32, by_count: bool) -> f32 {
    if by_count {
        return f32(atomicLoad(&bin_counts[bin]));
    }
    return f32(atomicLoad(&bin_high[bin])) * 4294967296.0 + f32(atomicLoad(&bin_low[bin]));
}

// One thread: the first bin at which the running sum reaches the target becomes the next byte of the key.
fn choose_bin(level: u32, by_count: bool, goal: f32) {
    if level == 0u {
        var total = 0.0;
        for (var bin = 0u; bin < BINS; bin++) {
            total += bin_value(bin, by_count);
        }
        found_target = select(goal * total, goal, by_count);
        found_below = 0.0;
        found_prefix = 0u;
    }
    var bin = 0u;
    while bin + 1u < BINS && found_below + bin_value(bin, by_count) < found_target {
        found_below += bin_value(bin, by_count);
        bin++;
    }
    found_prefix = (found_prefix << 8u) | bin;
}

// The smallest key at which `goal` (a count, or a share of the sum) is reached among keys up to `limit`.
fn cut(limit: u32, by_count: bool, goal: f32, highest: f32, lane: u32) -> u32 {
    for (var level = 0u; level < 3u; level++) {
        let shift = 16u - 8u * level;
        for (var bin = lane; bin < BINS; bin += WG_SIZE) {
            atomicStore(&bin_counts[bin], 0u);
            atomicStore(&bin_low[bin], 0u);
            atomicStore(&bin_high[bin], 0u);
        }
        workgroupBarrier();
        for (var i = lane; i < LENGTH; i += WG_SIZE) {
            let depth = highest - logits[i];
            let key = depth_key(depth);
            if key <= limit && key < DEEPEST && (level == 0u || key >> (shift + 8u) == found_prefix) {
                add_to_bin((key >> shift) & 255u, depth);
            }
        }
        workgroupBarrier();
        if lane == 0u {
            choose_bin(level, by_count, goal);
        }
        workgroupBarrier();
    }
    let key = found_prefix;
    workgroupBarrier();
    return min(key, limit);
}

// A number in (0, 1) for this step and index.
fn uniform_noise(step: u32, index: u32) -> f32 {
    var v = vec4<u32>(options.seed_low, options.seed_high, step, index) * 1664525u + 1013904223u;
    v.x += v.y * v.w; v.y += v.z * v.x; v.z += v.x * v.y; v.w += v.y * v.z;
    v ^= v >> vec4<u32>(16u);
    v.x += v.y * v.w; v.y += v.z * v.x; v.z += v.x * v.y; v.w += v.y * v.z;
    return (f32(v.x >> 9u) + 0.5) / 8388608.0;
}

fn allowed_depth(highest: f32, lane: u32) -> u32 {
    var limit = DEEPEST - 1u;
    if options.top_k > 0u {
        limit = cut(limit, true, f32(options.top_k), highest, lane);
    }
    if options.top_p < 1.0 {
        limit = cut(limit, false, options.top_p, highest, lane);
    }
    if options.min_p > 0.0 {
        limit = min(limit, depth_key(-log(options.min_p)));
    }
    return limit;
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(local_invocation_index) lane: u32) {
    var best = Winner(LOWEST, 0xffffffffu);
    for (var i = lane; i < WINNERS; i += WG_SIZE) {
        best = better(best, Winner(bitcast<f32>(winners[i].x), winners[i].y));
    }
    best = workgroup_best(best, lane);
    workgroupBarrier();
    if options.temperature > 0.0 {
        let highest = best.value;
        let limit = allowed_depth(highest, lane);
        best = Winner(LOWEST, 0xffffffffu);
        for (var i = lane; i < LENGTH; i += WG_SIZE) {
            if depth_key(highest - logits[i]) <= limit {
                let noise = -log(-log(uniform_noise(state.steps, i)));
                best = better(best, Winner(logits[i] / options.temperature + noise, i));
            }
        }
        best = workgroup_best(best, lane);
    }
    if lane == 0u && state.done == 0u {
        if best.index < LENGTH {
            counts[best.index] += 1u;
        }
        commit(best.index);
    }
}
