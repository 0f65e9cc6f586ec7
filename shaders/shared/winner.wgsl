// The best of a workgroup's candidates: the larger value, among equals the lower index. The kernel declares WG_SIZE.
const LOWEST: f32 = -3.4e38;

struct Winner {
    value: f32,
    index: u32,
}

var<workgroup> winner_scratch: array<Winner, WG_SIZE>;

fn better(a: Winner, b: Winner) -> Winner {
    if b.value > a.value || (b.value == a.value && b.index < a.index) {
        return b;
    }
    return a;
}

fn workgroup_best(mine: Winner, lane: u32) -> Winner {
    winner_scratch[lane] = mine;
    workgroupBarrier();
    for (var half = WG_SIZE / 2u; half > 0u; half /= 2u) {
        if lane < half {
            winner_scratch[lane] = better(winner_scratch[lane], winner_scratch[lane + half]);
        }
        workgroupBarrier();
    }
    return winner_scratch[0];
}
