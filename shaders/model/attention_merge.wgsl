// Combines the splits of attention_decode: y[h] = Σ_s exp(m_s - m)·partial_s / Σ_s exp(m_s - m)·l_s with m = max m_s.
// One workgroup computes COLUMNS columns of one head. PARTS threads share a column: each joins every PARTS-th split
// with a running maximum, and the first of them joins what they found.

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

// What a thread joined: the maximum, and relative to it the sums of partial and of exp. A sum of 0 is of no split.
var<workgroup> joined: array<vec3<f32>, WG_SIZE>; // [PARTS, COLUMNS]

// Joins two such triples.
fn join(one: vec3<f32>, other: vec3<f32>) -> vec3<f32> {
    let high = max(one.x, other.x);
    return vec3<f32>(high, exp(one.x - high) * one.yz + exp(other.x - high) * other.yz);
}

// Joins HELD splits from `first` on to `sum`. Most of the time is spent waiting for memory: all are loaded together,
// though a split without keys has no sums at all.
fn join_splits(sum: vec3<f32>, head: u32, first: u32, column: u32) -> vec3<f32> {
    var partials: array<f32, HELD>;
    var shares: array<vec2<f32>, HELD>;
    var high = sum.x;
    for (var i = 0u; i < HELD; i++) {
        // Past the last split that one again.
        let s = head * SPLITS + min(first + i * PARTS, SPLITS - 1u);
        partials[i] = partial[s * HEAD_DIM + column];
        shares[i] = stats[s];
    }
    for (var i = 0u; i < HELD; i++) {
        // mutant: if first + i * PARTS >= SPLITS { => if first + i * PARTS > SPLITS {
        if first + i * PARTS >= SPLITS {
            shares[i].y = 0.0;
        }
        high = max(high, shares[i].x);
    }
    // mutant: exp(sum.x - high) => 1.0
    var more = exp(sum.x - high) * sum.yz;
    for (var i = 0u; i < HELD; i++) {
        if shares[i].y > 0.0 {
            more += exp(shares[i].x - high) * vec2<f32>(partials[i], shares[i].y);
        }
    }
    return vec3<f32>(high, more);
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let head = group.x;
    // Past the last column it repeats.
    // mutant: group.y * COLUMNS + lane % COLUMNS => lane % COLUMNS
    let column = min(group.y * COLUMNS + lane % COLUMNS, HEAD_DIM - 1u);
    var sum = vec3<f32>(LOWEST, 0.0, 0.0);
    // mutant: first += HELD * PARTS => first += 2u * HELD * PARTS
    for (var first = lane / COLUMNS; first < SPLITS; first += HELD * PARTS) {
        sum = join_splits(sum, head, first, column);
    }
    joined[lane] = sum;
    workgroupBarrier();
    if lane < COLUMNS && group.y * COLUMNS + lane < HEAD_DIM {
        for (var i = 1u; i < PARTS; i++) {
            // mutant: joined[i * COLUMNS + lane] => joined[lane]
            sum = join(sum, joined[i * COLUMNS + lane]);
        }
        if SINKS != 0u {
            // mutant: head % max(SINKS, 1u) => head % max(SINKS / 2u, 1u)
            sum = join(sum, vec3<f32>(sinks[head % max(SINKS, 1u)], 0.0, 1.0));
        }
        y[head * HEAD_DIM + column] = sum.y / sum.z;
    }
}
