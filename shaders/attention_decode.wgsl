// One query token against the cache, split over keys: partial softmax(q·kᵀ·SCALE)·v of every split, to be joined by
// attention_merge (flash decoding). One workgroup computes one split of the keys for QUERIES query heads that share
// a kv head, walking its keys in tiles of WG_SIZE with a running maximum (Milakov & Gimelshein 2018, arXiv 1805.02867).

#import state

override WG_SIZE: u32 = 64;
override KV_HEADS: u32;
override GROUP: u32;          // query heads per kv head
override QUERIES: u32;        // query heads per workgroup: divides GROUP, at most 8
override HEAD_DIM: u32;       // even, at most 256
override CONTEXT: u32;
override SPLITS: u32;
override MIN_KEYS: u32 = 32;  // keys a split takes before the next one is used
override SCALE: f32;

struct Params {
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> state: State;
@group(0) @binding(2) var<storage, read> q: array<f32>;                 // [heads, HEAD_DIM]
@group(0) @binding(3) var<storage, read> k_cache: array<u32>;           // [KV_HEADS, CONTEXT, HEAD_DIM/2] f16 pairs
@group(0) @binding(4) var<storage, read> v_cache: array<u32>;           // the same
@group(0) @binding(5) var<storage, read_write> partial: array<f32>;     // [heads, SPLITS, HEAD_DIM], not normalised
@group(0) @binding(6) var<storage, read_write> stats: array<vec2<f32>>; // [heads, SPLITS]: maximum, sum of exp

override PAIRS: u32 = HEAD_DIM / 2;
// Where a head has fewer pairs than the workgroup has threads, several threads share a pair and split its keys.
override SHARE: u32 = max(1, WG_SIZE / PAIRS);

const MAX_QUERIES: u32 = 8u;
const LOWEST: f32 = -3.0e38;

var<workgroup> q_tile: array<f32, QUERIES * HEAD_DIM>;
var<workgroup> weights: array<f32, QUERIES * WG_SIZE>;
var<workgroup> shared_sum: array<vec2<f32>, SHARE * PAIRS>;

// Scaled score of query n of the tile against the key at `row` (in pairs).
fn score(n: u32, row: u32) -> f32 {
    var sum = 0.0;
    for (var i = 0u; i < PAIRS; i++) {
        let k = unpack2x16float(k_cache[row + i]);
        sum += q_tile[n * HEAD_DIM + 2u * i] * k.x + q_tile[n * HEAD_DIM + 2u * i + 1u] * k.y;
    }
    return sum * SCALE;
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let split = group.x;
    let kv_head = group.z;
    let first_head = kv_head * GROUP + group.y * QUERIES;
    let keys = state.position + 1u;
    let span = max(MIN_KEYS, (keys + SPLITS - 1u) / SPLITS);
    let start = min(split * span, keys);
    let to = min(start + span, keys);
    for (var i = lane; i < QUERIES * HEAD_DIM; i += WG_SIZE) {
        q_tile[i] = q[first_head * HEAD_DIM + i];
    }
    workgroupBarrier();

    let base = kv_head * CONTEXT * PAIRS;
    let pair = lane % PAIRS;
    let part = lane / PAIRS;
    var high: array<f32, MAX_QUERIES>;
    var total: array<f32, MAX_QUERIES>;
    // Two columns of pairs per thread: enough for HEAD_DIM 256 with 64 threads.
    var sum: array<array<vec2<f32>, 2>, MAX_QUERIES>;
    for (var n = 0u; n < QUERIES; n++) {
        high[n] = LOWEST;
    }
    for (var tile = start; tile < to; tile += WG_SIZE) {
        let count = min(WG_SIZE, to - tile);
        for (var n = 0u; n < QUERIES; n++) {
            if lane < count {
                weights[n * WG_SIZE + lane] = score(n, base + (tile + lane) * PAIRS);
            }
        }
        workgroupBarrier();
        for (var n = 0u; n < QUERIES; n++) {
            var highest = high[n];
            for (var i = 0u; i < count; i++) {
                highest = max(highest, weights[n * WG_SIZE + i]);
            }
            let shrink = exp(high[n] - highest);
            high[n] = highest;
            total[n] *= shrink;
            sum[n][0] *= shrink;
            sum[n][1] *= shrink;
        }
        workgroupBarrier();
        for (var n = 0u; n < QUERIES; n++) {
            if lane < count {
                weights[n * WG_SIZE + lane] = exp(weights[n * WG_SIZE + lane] - high[n]);
            }
        }
        workgroupBarrier();
        for (var n = 0u; n < QUERIES; n++) {
            for (var i = 0u; i < count; i++) {
                total[n] += weights[n * WG_SIZE + i];
            }
        }
        if part < SHARE {
            for (var i = part; i < count; i += SHARE) {
                let row = base + (tile + i) * PAIRS + pair;
                let v = unpack2x16float(v_cache[row]);
                var v_next = vec2<f32>();
                if pair + WG_SIZE < PAIRS {
                    v_next = unpack2x16float(v_cache[row + WG_SIZE]);
                }
                for (var n = 0u; n < QUERIES; n++) {
                    sum[n][0] += weights[n * WG_SIZE + i] * v;
                    sum[n][1] += weights[n * WG_SIZE + i] * v_next;
                }
            }
        }
        workgroupBarrier();
    }
    for (var n = 0u; n < QUERIES; n++) {
        let row = (first_head + n) * SPLITS + split;
        if lane == 0u {
            stats[row] = vec2<f32>(high[n], total[n]);
        }
        store(row, lane, pair, part, sum[n][0], sum[n][1]);
    }
}

// Joins the threads that share a pair and writes one row of `partial`.
fn store(row: u32, lane: u32, pair: u32, part: u32, first: vec2<f32>, second: vec2<f32>) {
    if part < SHARE {
        shared_sum[lane] = first;
    }
    workgroupBarrier();
    if lane < min(PAIRS, WG_SIZE) {
        var joined = shared_sum[lane];
        for (var i = 1u; i < SHARE; i++) {
            joined += shared_sum[lane + i * PAIRS];
        }
        partial[row * HEAD_DIM + 2u * pair] = joined.x;
        partial[row * HEAD_DIM + 2u * pair + 1u] = joined.y;
        if pair + WG_SIZE < PAIRS {
            partial[row * HEAD_DIM + 2u * (pair + WG_SIZE)] = second.x;
            partial[row * HEAD_DIM + 2u * (pair + WG_SIZE) + 1u] = second.y;
        }
    }
    workgroupBarrier();
}
