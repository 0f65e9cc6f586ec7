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
    let splits = atomicLoad(&seen);
    var high = shares[0].x;
    for (var s = 1u; s < splits; s++) {
        high = max(high, shares[s].x);
    }
    workgroupBarrier();
    for (var s = lane; s < splits; s += WG_SIZE) {
        shares[s].x = exp(shares[s].x - high);
    }
    workgroupBarrier();
    var total = 0.0;
    for (var s = 0u; s < splits; s++) {
        total += shares[s].x * shares[s].y;
    }
    for (var i = lane; i < HEAD_DIM; i += WG_SIZE) {
        var sum = 0.0;
        for (var s = 0u; s < splits; s++) {
            // A split without keys has no sums at all.
            let part = partial[(head * SPLITS + s) * HEAD_DIM + i];
            sum += select(0.0, shares[s].x * part, shares[s].y > 0.0);
        }
        y[head * HEAD_DIM + i] = sum / total;
    }
}
