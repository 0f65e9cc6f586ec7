// The best of a workgroup's candidates: the larger value, among equals the lower index. The kernel declares WG_SIZE.
#import lowest

struct PartialArgmax {
    value: f32,
    index: u32,
}

var<workgroup> argmax_scratch: array<PartialArgmax, WG_SIZE>;

fn better(a: PartialArgmax, b: PartialArgmax) -> PartialArgmax {
    // mutant (argmax, argmax_merge): && b.index < a.index => && b.index > a.index
    if b.value > a.value || (b.value == a.value && b.index < a.index) {
        return b;
    }
    return a;
}

fn workgroup_best(mine: PartialArgmax, lane: u32) -> PartialArgmax {
    argmax_scratch[lane] = mine;
    workgroupBarrier();
    // mutant (argmax, argmax_merge, penalties, sample, sample_candidates, sample_histogram): 0u => 1u
    for (var half = WG_SIZE / 2u; half > 0u; half /= 2u) {
        if lane < half {
            argmax_scratch[lane] = better(argmax_scratch[lane], argmax_scratch[lane + half]);
        }
        workgroupBarrier();
    }
    return argmax_scratch[0];
}
