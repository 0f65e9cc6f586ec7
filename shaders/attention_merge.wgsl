// Joins the splits of attention_decode: y[h] = Σ_s exp(m_s - m)·partial_s / Σ_s exp(m_s - m)·l_s with m = max m_s.
// One workgroup computes one head.

override WG_SIZE: u32 = 64;
override HEAD_DIM: u32;
override SPLITS: u32;

struct Params {
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> partial: array<f32>;      // [heads, SPLITS, HEAD_DIM]
@group(0) @binding(2) var<storage, read> stats: array<vec2<f32>>;  // [heads, SPLITS]: maximum, sum of exp
@group(0) @binding(3) var<storage, read_write> y: array<f32>;      // [heads, HEAD_DIM]

const STEP = 8u;
const LOWEST = -3.4e38;

// Of every split: its maximum, then its factor; and its sum.
var<workgroup> shares: array<vec2<f32>, SPLITS>;
var<workgroup> seen: atomic<u32>; // splits up to the last that has keys

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let head = group.x;
    for (var s = lane; s < SPLITS; s += WG_SIZE) {
        let share = stats[head * SPLITS + s];
        shares[s] = share;
        if share.y > 0.0 {
            atomicMax(&seen, s + 1u);
        }
    }
    workgroupBarrier();
    // Steps of STEP without a condition inside, so that their loads are on the way together.
    let splits = atomicLoad(&seen);
    var high = LOWEST;
    for (var first = 0u; first < splits; first += STEP) {
        for (var s = first; s < first + STEP; s++) {
            high = max(high, shares[min(s, SPLITS - 1u)].x);
        }
    }
    workgroupBarrier();
    for (var s = lane; s < SPLITS; s += WG_SIZE) {
        shares[s].x = select(0.0, exp(shares[s].x - high), shares[s].y > 0.0);
    }
    workgroupBarrier();
    for (var i = lane; i < HEAD_DIM; i += WG_SIZE) {
        var total = 0.0;
        var sum = 0.0;
        for (var first = 0u; first < splits; first += STEP) {
            for (var s = first; s < first + STEP; s++) {
                let share = shares[min(s, SPLITS - 1u)];
                let part = partial[(head * SPLITS + min(s, SPLITS - 1u)) * HEAD_DIM + i];
                // A split without keys has no sums at all.
                let seen_here = s < SPLITS && share.y > 0.0;
                total += select(0.0, share.x * share.y, seen_here);
                sum += select(0.0, share.x * part, seen_here);
            }
        }
        y[head * HEAD_DIM + i] = sum / total;
    }
}
