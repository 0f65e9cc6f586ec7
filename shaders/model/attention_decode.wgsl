// Rows of any sequences against the caches of theirs, split over keys: partial softmax(q·kᵀ·SCALE)·v of every split,
// which attention_merge combines (flash decoding). One workgroup computes one split of the keys for QUERIES query heads
// of a row that share a kv head, walking its keys in tiles with a running maximum (Milakov & Gimelshein 2018,
// arXiv 1805.02867).
// Keys and values are read eight at a time, once for all queries of the workgroup.

#import pass

override WG_SIZE: u32 = 64;
override GROUP: u32;          // query heads per kv head
override QUERIES: u32;        // query heads per workgroup: divides GROUP, at most 8
override HEAD_DIM: u32;       // even, at most 576
override VALUE_DIM: u32;      // values of a head of v that count, and of a result; even, at most 512
override KV_HEADS: u32;
override CAPACITY: u32;       // positions in the cache of a sequence
override RING: bool;          // position p lies at p % CAPACITY; WINDOW is at most CAPACITY
override SPLITS: u32;
override SCALE: f32;
override WINDOW: u32 = 0;     // the query attends to the last WINDOW keys; 0: to all
override SOFT_CAP: f32 = 0;   // scores become SOFT_CAP * tanh(score / SOFT_CAP); 0: no cap
override ALIBI: f32 = 0;      // the bias of ALiBi, see alibi.wgsl; 0: none

struct Params {
    position: u32, // added to those of the rows
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> q: array<f32>;             // [rows, heads, HEAD_DIM], or with k and v
@group(0) @binding(5) var<storage, read_write> partial: array<f32>; // [rows, heads, SPLITS, VALUE_DIM], not normalised
@group(0) @binding(6) var<storage, read_write> stats: array<vec2<f32>>; // [rows, heads, SPLITS]: maximum, sum of exp

#import eight
#import eight_of_q
#import cache
#import lowest
#import soft_cap
#import alibi
#import prefetched
#import queries
override VECS: u32 = (HEAD_DIM + 7) / 8;   // eights of a head
override VALUE_VECS: u32 = (VALUE_DIM + 7) / 8; // of one of v
override GROUPS: u32 = GROUP / QUERIES;     // workgroups that share a kv head
override TILE: u32 = WG_SIZE / 2;          // keys at a time: two threads share the score of one
override THREAD_GROUP: u32 = WG_SIZE / 8;          // threads that compute the softmax weights of one query
override PARTS: u32 = WG_SIZE / VALUE_VECS; // threads that share a column of v, each with some keys
override K_PREFETCHED: u32 = (VECS + 1) / 2;     // vecs of a thread's half of a key
override V_PREFETCHED: u32 = (TILE + PARTS - 1) / PARTS;
override BATCH: u32 = min(QUERIES, 4);     // queries whose sums are added up at once

const MAX_QUERIES: u32 = 8u;

override Q_TILE: u32 = QUERIES * VECS;
override SCORES: u32 = MAX_QUERIES * WG_SIZE;
override WEIGHTS: u32 = MAX_QUERIES * TILE;
override COLUMNS: u32 = BATCH * WG_SIZE;

var<workgroup> q_tile: array<Eight, Q_TILE>;
var<workgroup> scores: array<f32, SCORES>;  // [query, half of the row, key]
var<workgroup> weights: array<f32, WEIGHTS>;
var<workgroup> thread_group: array<f32, WG_SIZE>;            // a maximum, then a sum, of each thread
var<workgroup> high: array<f32, MAX_QUERIES>;
var<workgroup> total: array<f32, MAX_QUERIES>;
var<workgroup> rescale: array<f32, MAX_QUERIES>;
var<workgroup> columns: array<Eight, COLUMNS>;     // [query, part, VALUE_VECS]

// What a thread prefetches of the next tile while this one is computed: half a row of keys, and its share of v.
struct Prefetched {
    k: array<PackedEight, MAX_PREFETCHED>,
    v: array<PackedEight, MAX_PREFETCHED>,
}

var<private> query_head: u32; // the first of the workgroup's
var<private> behind: f32;     // rows from the tile's first key to the query

// Where a position is in the cache.
fn slot_of(position: u32) -> u32 {
    // mutant: position % CAPACITY, RING => position, RING
    return select(position, position % CAPACITY, RING);
}

// Loads for the tile of keys from position `tile` on, of the head whose rows begin at element `base`. Keys past
// `count` repeat the last.
fn prefetch(lane: u32, base: u32, tile: u32, count: u32) -> Prefetched {
    var prefetched: Prefetched;
    let key = base + slot_of(tile + min(lane % TILE, count - 1u)) * ROW;
    for (var i = 0u; i < K_PREFETCHED; i++) {
        prefetched.k[i] = load_k(key, min(2u * i + lane / TILE, VECS - 1u));
    }
    for (var i = 0u; i < V_PREFETCHED; i++) {
        let slot = slot_of(tile + min(lane / VALUE_VECS + i * PARTS, count - 1u));
        prefetched.v[i] = load_v(base + slot * ROW, lane % VALUE_VECS);
    }
    return prefetched;
}

// Half of the scores of one key, for every query.
fn score(lane: u32, prefetched: ptr<function, Prefetched>) {
    let key = lane % TILE;
    let half = lane / TILE;
    var sum: array<f32, MAX_QUERIES>;
    for (var i = 0u; i < K_PREFETCHED; i++) {
        let at = 2u * i + half;
        // mutant: if at < VECS { => if at <= VECS {
        if at < VECS {
            let k = unpack_eight((*prefetched).k[i]);
            for (var n = 0u; n < QUERIES; n++) {
                sum[n] += dot_eight(q_tile[n * VECS + at], k);
            }
        }
    }
    for (var n = 0u; n < QUERIES; n++) {
        scores[(n * 2u + half) * TILE + key] = sum[n];
    }
}

fn whole_score(n: u32, key: u32) -> f32 {
    var sum = (scores[n * 2u * TILE + key] + scores[(n * 2u + 1u) * TILE + key]) * SCALE;
    if SOFT_CAP != 0.0 {
        sum = soft_cap(sum, SOFT_CAP);
    }
    if ALIBI != 0.0 {
        // mutant: query_head + n, KV_HEADS * GROUP => query_head, KV_HEADS * GROUP
        sum -= alibi_slope(query_head + n, KV_HEADS * GROUP, ALIBI) * max(0.0, behind - f32(key));
    }
#import distance_bias
    return sum;
}

// Replaces the scores of the tile by softmax weights and updates the running maxima and sums.
fn softmax_weights(lane: u32, count: u32) {
    let n = lane / THREAD_GROUP;
    let member = lane % THREAD_GROUP;
    var highest = LOWEST;
    for (var key = member; key < TILE; key += THREAD_GROUP) {
        highest = max(highest, whole_score(n, key)); // past the last key its score again
    }
    thread_group[lane] = highest;
    workgroupBarrier();
    highest = high[n];
    for (var i = 0u; i < THREAD_GROUP; i++) {
        highest = max(highest, thread_group[n * THREAD_GROUP + i]);
    }
    workgroupBarrier();
    var sum = 0.0;
    for (var key = member; key < TILE; key += THREAD_GROUP) {
        let weight = select(0.0, exp(whole_score(n, key) - highest), key < count);
        weights[n * TILE + key] = weight;
        sum += weight;
    }
    thread_group[lane] = sum;
    let factor = exp(high[n] - highest);
    workgroupBarrier();
    if member == 0u {
        var all = total[n] * factor;
        for (var i = 0u; i < THREAD_GROUP; i++) {
            all += thread_group[lane + i];
        }
        total[n] = all;
        high[n] = highest;
        rescale[n] = factor;
    }
    workgroupBarrier();
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let split = group.x;
    let row = this_pass.row[group.y / GROUPS];
    // mutant: group.z * GROUP + group.y % GROUPS * QUERIES => group.z * GROUP + group.y % GROUPS
    // mutant: group.y / GROUPS * KV_HEADS => 0u * KV_HEADS
    let first_head = group.y / GROUPS * KV_HEADS * GROUP + group.z * GROUP + group.y % GROUPS * QUERIES;
    // mutant: params.position + row.position => row.position
    let keys = params.position + row.position + 1u;
    // mutant: keys - min(keys, WINDOW) => keys - 1u - min(keys - 1u, WINDOW)
    let unseen = select(0u, keys - min(keys, WINDOW), WINDOW != 0u);
    // mutant: (keys - unseen + SPLITS - 1u) / SPLITS => (keys - unseen) / SPLITS
    let span = max(TILE, (keys - unseen + SPLITS - 1u) / SPLITS);
    let begin = min(unseen + split * span, keys);
    let end = min(begin + span, keys);
    if begin == end {
        if lane < QUERIES {
            stats[(first_head + lane) * SPLITS + split] = vec2<f32>(LOWEST, 0.0);
        }
        return; // attention_merge reads no sums of a split without keys
    }
    let head = group.z * GROUP + group.y % GROUPS * QUERIES;
    stage_queries(group.y / GROUPS, head, end == keys, lane);
    if lane < MAX_QUERIES {
        high[lane] = LOWEST;
        total[lane] = 0.0;
    }
    workgroupBarrier(); // q_tile, too

    // mutant: row.sequence * KV_HEADS => 0u * KV_HEADS
    let base = (row.sequence * KV_HEADS + group.z) * CAPACITY * ROW;
    let part = lane / VALUE_VECS;
    var sum: array<Eight, MAX_QUERIES>;
    for (var tile = begin; tile < end; tile += TILE) {
        let count = min(TILE, end - tile);
        var prefetched = prefetch(lane, base, tile, count);
        query_head = head;
        behind = f32(keys - 1u - tile);
        score(lane, &prefetched);
        workgroupBarrier();
        softmax_weights(lane, count);
        for (var n = 0u; n < QUERIES; n++) {
            sum[n] = Eight(sum[n].low * rescale[n], sum[n].high * rescale[n]);
        }
        for (var i = 0u; i < V_PREFETCHED; i++) {
            let key = part + i * PARTS;
            if part < PARTS && key < count {
                let v = unpack_eight(prefetched.v[i]);
                for (var n = 0u; n < QUERIES; n++) {
                    let weight = weights[n * TILE + key];
                    sum[n] = Eight(sum[n].low + weight * v.low, sum[n].high + weight * v.high);
                }
            }
        }
        workgroupBarrier();
    }
    if lane < QUERIES {
        stats[(first_head + lane) * SPLITS + split] = vec2<f32>(high[lane], total[lane]);
    }
    for (var first = 0u; first < QUERIES; first += BATCH) {
        for (var n = 0u; n < BATCH; n++) {
            columns[n * WG_SIZE + lane] = sum[first + n];
        }
        workgroupBarrier();
        for (var i = lane; i < BATCH * VALUE_VECS && first + i / VALUE_VECS < QUERIES; i += WG_SIZE) {
            join(first, i / VALUE_VECS, i % VALUE_VECS, split, first_head);
        }
        workgroupBarrier();
    }
}

// Adds up the parts of one column for query first + n, and stores it.
fn join(first: u32, n: u32, vec: u32, split: u32, first_head: u32) {
    var joined = columns[n * WG_SIZE + vec];
    for (var i = 1u; i < PARTS; i++) {
        // mutant: n * WG_SIZE + i * VALUE_VECS + vec => n * WG_SIZE + i + vec
        let other = columns[n * WG_SIZE + i * VALUE_VECS + vec];
        joined = Eight(joined.low + other.low, joined.high + other.high);
    }
    let row = (first_head + first + n) * SPLITS + split;
    for (var i = 0u; i < 4u; i++) {
        store(row, 8u * vec + i, joined.low[i]);
        store(row, 8u * vec + 4u + i, joined.high[i]);
    }
}

fn store(row: u32, i: u32, value: f32) {
    // mutant: if i < VALUE_DIM { => if i + 1u < VALUE_DIM {
    if i < VALUE_DIM {
        partial[row * VALUE_DIM + i] = value;
    }
}
