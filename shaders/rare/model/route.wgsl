// routes[t] = the TOP experts of token t by its router's logits, and their weights    (Shazeer et al. 2017,
// arXiv 1701.06538; the bias for the choice alone: DeepSeek-V3, arXiv 2412.19437)
// One workgroup computes one row. An expert's rank is the number of experts that come before it, of equal ones those
// with the smaller number: no sorting, and no barrier between the choices.

override WG_SIZE: u32;
override EXPERTS: u32;        // at most MAX_EXPERTS of kernels/route.rs
override TOP: u32;            // experts of a token, at most MAX_TOP
override GATING: u32;         // weights are 0: softmax over all experts, 1: sigmoid, 2: softmax over the chosen
override NORMALISE: bool;     // weights of a token add up to 1
override SCALE: f32;          // of the weights
override LOGIT_SCALE: f32;
override GROUPS: u32;         // of as many experts each, one after the other; 1: none
override USED_GROUPS: u32;    // whose experts may be chosen: those whose best two together are the best
override BIAS: bool;          // the choice is by weight + bias
override EXPERT_SCALES: bool; // weights are multiplied by their expert's scale

const MAX_TOP = 16u;
const LEFT_OUT = -1.0e38; // a score below all others, of which two can be added
const SMALLEST_SUM = 6.103515625e-5; // the smallest normal f16: weights that add up to less are not scaled up further

struct Params {
    stride: u32, // elements from one row of logits to the next
    offset: u32, // element of a row where its logits start
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> logits: array<f32>;        // [rows, stride]
@group(0) @binding(2) var<storage, read> bias: array<f32>;          // [EXPERTS]
@group(0) @binding(3) var<storage, read> expert_scales: array<f32>; // [EXPERTS]
@group(0) @binding(4) var<storage, read_write> routes: array<u32>;  // [rows, 2 · TOP]: ids, then bits of weights

var<workgroup> of_expert: array<f32, EXPERTS>; // logits, then weights before they are normalised
var<workgroup> scores: array<f32, EXPERTS>;    // what the choice is by
var<workgroup> of_group: array<f32, GROUPS>;   // sums of the two best scores
var<workgroup> chosen: array<u32, MAX_TOP>;

// The largest of all logits.
fn largest() -> f32 {
    var high = of_expert[0];
    for (var e = 1u; e < EXPERTS; e += 1u) {
        high = max(high, of_expert[e]);
    }
    return high;
}

fn sum_of_all() -> f32 {
    var sum = 0.0;
    // mutant: e < EXPERTS; e += 1u) { => e + 1u < EXPERTS; e += 1u) {
    for (var e = 0u; e < EXPERTS; e += 1u) {
        sum += of_expert[e];
    }
    return sum;
}

fn sum_of_chosen() -> f32 {
    var sum = 0.0;
    for (var s = 0u; s < TOP; s += 1u) {
        sum += of_expert[chosen[s]];
    }
    return sum;
}

// Replaces this thread's logits by weights, and notes its scores.
fn weigh(lane: u32) {
    let high = largest();
    workgroupBarrier();
    for (var e = lane; e < EXPERTS; e += WG_SIZE) {
        let logit = of_expert[e];
        scores[e] = logit;
        // mutant: 1.0 / (1.0 + exp(-max(logit, -80.0))), GATING == 1u => logit, GATING == 1u
        of_expert[e] = select(exp(logit - high), 1.0 / (1.0 + exp(-max(logit, -80.0))), GATING == 1u);
    }
    workgroupBarrier();
    if BIAS || GROUPS > 1u {
        let sum = select(1.0, sum_of_all(), GATING == 0u);
        for (var e = lane; e < EXPERTS; e += WG_SIZE) {
            // mutant: of_expert[e] / sum + select => scores[e] + select
            scores[e] = of_expert[e] / sum + select(0.0, bias[e], BIAS);
        }
        workgroupBarrier();
    }
}

// The sum of the two best scores of a group.
fn best_two(g: u32) -> f32 {
    var best = LEFT_OUT;
    var second = LEFT_OUT;
    // mutant: (g + 1u) * (EXPERTS / GROUPS) => (g + 1u) * (EXPERTS / GROUPS) - 1u
    for (var e = g * (EXPERTS / GROUPS); e < (g + 1u) * (EXPERTS / GROUPS); e += 1u) {
        second = max(second, min(best, scores[e]));
        best = max(best, scores[e]);
    }
    return best + second;
}

// Leaves out the experts of all groups but the best, of equal ones the first.
fn leave_out_groups(lane: u32) {
    for (var g = lane; g < GROUPS; g += WG_SIZE) {
        of_group[g] = best_two(g);
    }
    workgroupBarrier();
    for (var e = lane; e < EXPERTS; e += WG_SIZE) {
        let g = e / (EXPERTS / GROUPS);
        var before = 0u;
        for (var other = 0u; other < GROUPS; other += 1u) {
            // mutant: of_group[other] == of_group[g] && other < g => of_group[other] == of_group[g] && other > g
            before += u32(of_group[other] > of_group[g] || (of_group[other] == of_group[g] && other < g));
        }
        // mutant: before < USED_GROUPS => before <= USED_GROUPS
        scores[e] = select(LEFT_OUT, scores[e], before < USED_GROUPS);
    }
    workgroupBarrier();
}

// Experts that come before expert e.
fn rank(e: u32) -> u32 {
    let score = scores[e];
    var before = 0u;
    for (var other = 0u; other < EXPERTS; other += 1u) {
        // mutant: scores[other] == score && other < e => scores[other] == score && other > e
        before += u32(scores[other] > score || (scores[other] == score && other < e));
    }
    return before;
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let row = group.x;
    for (var e = lane; e < EXPERTS; e += WG_SIZE) {
        // mutant: row * params.stride + params.offset + e => row * EXPERTS + e
        of_expert[e] = logits[row * params.stride + params.offset + e] * LOGIT_SCALE;
    }
    workgroupBarrier();
    weigh(lane);
    if GROUPS > 1u {
        leave_out_groups(lane);
    }
    for (var e = lane; e < EXPERTS; e += WG_SIZE) {
        let place = rank(e);
        if place < TOP {
            chosen[place] = e;
        }
    }
    workgroupBarrier();
    if lane >= TOP {
        return;
    }
    // What the weights are divided by: GATING's own sum, and theirs with NORMALISE.
    var total = 1.0;
    if GATING == 0u {
        total = sum_of_all();
    }
    if GATING == 2u {
        total = sum_of_chosen();
    }
    if NORMALISE {
        // mutant: max(sum_of_chosen(), SMALLEST_SUM * total) => sum_of_chosen()
        total = max(sum_of_chosen(), SMALLEST_SUM * total);
    }
    let e = chosen[lane];
    // mutant: select(1.0, expert_scales[e], EXPERT_SCALES) => 1.0
    let weight = of_expert[e] / total * (SCALE * select(1.0, expert_scales[e], EXPERT_SCALES));
    routes[row * 2u * TOP + lane] = e;
    routes[row * 2u * TOP + TOP + lane] = bitcast<u32>(weight);
}
