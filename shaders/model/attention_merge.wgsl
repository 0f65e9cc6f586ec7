// Combines the splits of attention_decode: y[h] = Σ_s exp(m_s - m)·partial_s / Σ_s exp(m_s - m)·l_s with m = max m_s.
// One workgroup computes COLUMNS columns of one head. PARTS threads share a column, each with every PARTS-th split.

override WG_SIZE: u32 = 256;
override HEAD_DIM: u32;
override COLUMNS: u32;        // at most WG_SIZE
override SPLITS: u32;
override SINKS: u32;          // heads of a row, whose sinks take part in the softmax without a value; 0: no sinks

struct Params {
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> partial: array<f32>;      // [heads, SPLITS, HEAD_DIM]
@group(0) @binding(2) var<storage, read> stats: array<vec2<f32>>;  // [heads, SPLITS]: maximum, sum of exp
@group(0) @binding(3) var<storage, read> sinks: array<f32>;        // [SINKS]
@group(0) @binding(4) var<storage, read_write> y: array<f32>;      // [heads, HEAD_DIM]

override PARTS: u32 = WG_SIZE / COLUMNS;

const HELD = 8u;      // splits that a thread loads together
#import lowest

// For every split: its maximum, then its factor; and its sum, which is zero without keys.
var<workgroup> shares: array<vec2<f32>, SPLITS>;
var<workgroup> sums: array<vec2<f32>, WG_SIZE>; // [PARTS, COLUMNS]: of partial, of exp
var<workgroup> seen: atomic<u32>;               // splits up to the last that has keys

// Column `column` of HELD splits from `first` on; past the last split that one again.
fn hold(head: u32, first: u32, column: u32) -> array<f32, HELD> {
    var held: array<f32, HELD>;
    for (var i = 0u; i < HELD; i++) {
        held[i] = partial[(head * SPLITS + min(first + i * PARTS, SPLITS - 1u)) * HEAD_DIM + column];
    }
    return held;
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let head = group.x;
    // Past the last column it repeats.
    // mutant: group.y * COLUMNS + lane % COLUMNS => lane % COLUMNS
    let column = min(group.y * COLUMNS + lane % COLUMNS, HEAD_DIM - 1u);
    let part = lane / COLUMNS;
    // Most of the time is spent waiting for memory: the first sums are loaded together with the shares.
    var held = hold(head, part, column);
    for (var s = lane; s < SPLITS; s += WG_SIZE) {
        let share = stats[head * SPLITS + s];
        shares[s] = share;
        if share.y > 0.0 {
            // mutant: atomicMax(&seen, s + 1u) => atomicMax(&seen, s)
            atomicMax(&seen, s + 1u);
        }
    }
    workgroupBarrier();
    let splits = atomicLoad(&seen);
    // mutant: head % max(SINKS, 1u) => head % max(SINKS / 2u, 1u)
    let sink = select(LOWEST, sinks[head % max(SINKS, 1u)], SINKS != 0u);
    var high = sink;
    for (var s = 0u; s < splits; s++) {
        high = max(high, shares[s].x);
    }
    workgroupBarrier();
    for (var s = lane; s < SPLITS; s += WG_SIZE) {
        shares[s].x = exp(shares[s].x - high);
    }
    workgroupBarrier();
    var sum = vec2<f32>();
    // mutant: first += HELD * PARTS => first += HELD
    for (var first = part; first < splits; first += HELD * PARTS) {
        if first != part {
            // mutant: held = hold(head, first, column); => held = hold(head, part, column);
            held = hold(head, first, column);
        }
        for (var i = 0u; i < HELD; i++) {
            let s = first + i * PARTS;
            let share = shares[min(s, SPLITS - 1u)];
            // A split without keys has no sums at all.
            // mutant: s < SPLITS && share.y > 0.0 => share.y > 0.0
            if s < SPLITS && share.y > 0.0 {
                sum += share.x * vec2<f32>(held[i], share.y);
            }
        }
    }
    sums[lane] = sum;
    workgroupBarrier();
    if lane < COLUMNS && group.y * COLUMNS + lane < HEAD_DIM {
        for (var i = 1u; i < PARTS; i++) {
            // mutant: sums[i * COLUMNS + lane] => sums[lane]
            sum += sums[i * COLUMNS + lane];
        }
        // mutant: exp(sink - high), SINKS != 0u => 0.0, SINKS != 0u
        let of_sink = select(0.0, exp(sink - high), SINKS != 0u);
        y[head * HEAD_DIM + column] = sum.x / (sum.y + of_sink);
    }
}
