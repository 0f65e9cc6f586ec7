// y = softmax(q·kᵀ·SCALE + causal mask)·v for many query rows (flash attention, Dao et al. 2022, arXiv 2205.14135).
// One workgroup computes QUERIES rows of one head, walking the keys in tiles of KEYS with a running maximum, up to the
// last key that its last query attends to: its own, or for rows of an image the last of these. A thread owns one pair
// of value columns for 8 queries. The rows of a workgroup are tokens of one sequence at consecutive positions.

#import pass

override HEAD_DIM: u32;          // even
override VALUE_DIM: u32;         // values of a head of v that count, and of a result; even
override QUERIES: u32;           // a multiple of 8
override WG_SIZE: u32;           // VALUE_DIM/2 * QUERIES/8
override HEADS: u32;
override GROUP: u32;             // query heads per kv head
override CAPACITY: u32;         // positions in the cache of a sequence
override RING: bool;             // position p lies at p % CAPACITY; WINDOW and the rows of a pass fit together
override SCALE: f32;
override WINDOW: u32 = 0;        // a query attends to the last WINDOW keys; 0: to all
override SOFT_CAP: f32 = 0;      // scores become SOFT_CAP * tanh(score / SOFT_CAP); 0: no cap
override ALIBI: f32 = 0;         // the bias of ALiBi, see alibi.wgsl; 0: none
override SINKS: bool;            // each softmax has one more score, that of its head's sink, without a value

struct Params {
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> q: array<f32>;         // [rows, HEADS, HEAD_DIM]
@group(0) @binding(3) var<storage, read> k_cache: array<CacheElement>; // [sequences, kv_heads, CAPACITY, ROW]
@group(0) @binding(4) var<storage, read> v_cache: array<CacheElement>; // the same
@group(0) @binding(5) var<storage, read> sinks: array<f32>;     // [HEADS]
@group(0) @binding(6) var<storage, read_write> y: array<f32>;   // [rows, HEADS, VALUE_DIM]

#import eight
#import eight_of_q
#import cache
#import lowest
#import soft_cap
#import alibi
const KEYS: u32 = 32u;
const MAX_QUERIES: u32 = 16u;
override PAIRS: u32 = VALUE_DIM / 2;
override VECS: u32 = (HEAD_DIM + 7) / 8;
override THREAD_GROUPS: u32 = max(1, WG_SIZE / KEYS);                // threads that share a key, each with some queries
override PER_THREAD_GROUP: u32 = (QUERIES + THREAD_GROUPS - 1) / THREAD_GROUPS;
override STAGED: bool;       // queries are kept in workgroup memory; of large heads they are read where they lie
override Q_TILE: u32;        // vecs of the queries there: QUERIES * VECS, or 1

var<workgroup> q_tile: array<Eight, Q_TILE>;
var<workgroup> weights: array<f32, QUERIES * KEYS>;
var<workgroup> high: array<f32, QUERIES>;
var<workgroup> total: array<f32, QUERIES>;
var<workgroup> rescale: array<f32, QUERIES>;

var<private> slope: f32;  // of the head
var<private> behind: f32; // rows from the key at hand to the workgroup's first query

// Where a position is in the cache.
fn slot_of(position: u32) -> u32 {
    // mutant: position % CAPACITY, RING => position, RING
    return select(position, position % CAPACITY, RING);
}

// Vec v of query n of the workgroup, whose first query's head starts at element `head_row` of q.
fn query_vec(n: u32, v: u32, head_row: u32) -> Eight {
    if STAGED {
        return q_tile[n * VECS + v];
    }
    // Past the last row of the pass it repeats.
    // mutant: min(n, this_pass.rows - 1u - head_row / (HEADS * HEAD_DIM)) => 0u * n
    return load_q(head_row + min(n, this_pass.rows - 1u - head_row / (HEADS * HEAD_DIM)) * HEADS * HEAD_DIM, v);
}

// Scores of the key at `row`, number `i` of the tile, for the queries of a thread group. Of the workgroup's queries,
// those before `early` precede the key, and for those from `late` on it has left the window.
fn score(i: u32, row: u32, thread_group: u32, head_row: u32, early: u32, late: u32) {
    var sum: array<f32, MAX_QUERIES>;
    for (var v = 0u; v < VECS; v++) {
        let k = unpack_eight(load_k(row, v));
        for (var n = 0u; n < PER_THREAD_GROUP; n++) {
            sum[n] += dot_eight(query_vec(min(thread_group * PER_THREAD_GROUP + n, QUERIES - 1u), v, head_row), k);
        }
    }
    for (var n = 0u; n < PER_THREAD_GROUP; n++) {
        let query = thread_group * PER_THREAD_GROUP + n;
        if query < QUERIES {
            var value = sum[n] * SCALE;
            if SOFT_CAP != 0.0 {
                value = soft_cap(value, SOFT_CAP);
            }
            if ALIBI != 0.0 {
                value -= slope * (behind + f32(query));
            }
#import distance_bias
            // mutant: WINDOW != 0u && query >= late => WINDOW != 0u && query > late
            weights[query * KEYS + i] = select(value, LOWEST, query < early || (WINDOW != 0u && query >= late));
        }
    }
}

// Updates query n's maximum and sum with one tile of `count` keys and replaces its scores by softmax weights.
fn advance(n: u32, count: u32) {
    var highest = high[n];
    for (var i = 0u; i < count; i++) {
        highest = max(highest, weights[n * KEYS + i]);
    }
    let factor = exp(high[n] - highest);
    var sum = total[n] * factor;
    for (var i = 0u; i < count; i++) {
        let weight = exp(weights[n * KEYS + i] - highest);
        weights[n * KEYS + i] = weight;
        sum += weight;
    }
    high[n] = highest;
    total[n] = sum;
    rescale[n] = factor;
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let head = group.x;
    let first = group.y * QUERIES;
    let queries = min(QUERIES, this_pass.rows - min(first, this_pass.rows));
    let row = this_pass.row[first];
    // mutant: head / GROUP) => head % GROUP)
    // mutant: row.sequence * => 0u *
    let base = (row.sequence * (HEADS / GROUP) + head / GROUP) * CAPACITY * ROW;
    let head_row = (first * HEADS + head) * HEAD_DIM;
    for (var i = lane; STAGED && i < QUERIES * VECS; i += WG_SIZE) {
        let token = min(first + i / VECS, this_pass.rows - 1u);
        q_tile[i] = load_q((token * HEADS + head) * HEAD_DIM, i % VECS);
    }
    for (var n = lane; n < QUERIES; n += WG_SIZE) {
        // mutant: sinks[head], SINKS => sinks[0], SINKS
        high[n] = select(LOWEST, sinks[head], SINKS);
        total[n] = select(0.0, 1.0, SINKS);
    }
    workgroupBarrier();
    slope = alibi_slope(head, HEADS, ALIBI);

    let pair = lane % PAIRS;
    let first_query = (lane / PAIRS) * 8u;
    var sum: array<vec2<f32>, 8>;
    let before = row.position;   // keys before the first query's own
    // mutant: var end = before + queries; => var end = this_pass.row[0].position + queries;
    // mutant: var end = before + queries; => var end = before + queries - 1u;
    var end = before + queries;  // one past the last key that the last query sees
    let seen_first = max(this_pass.seen_first, first) - first;
    let seen_end = this_pass.seen_end & ~SEEN_IN_WINDOWS;
    // mutant: WINDOW != 0u || this_pass.seen_end == seen_end => true
    let is_here = WINDOW != 0u || this_pass.seen_end == seen_end;
    let sees = is_here && seen_first < queries && seen_end > first;
    // mutant: before + seen_end - first), sees => before + seen_end - first - 1u), sees
    end = select(end, max(end, before + seen_end - first), sees);
    let begin = select(0u, before + 1u - min(before + 1u, WINDOW), WINDOW != 0u);
    for (var tile = begin; tile < end; tile += KEYS) {
        let count = min(KEYS, end - tile);
        for (var i = lane; i < THREAD_GROUPS * KEYS; i += WG_SIZE) {
            let key = tile + i % KEYS;
            if key < end {
                let late = key + WINDOW - min(before, key + WINDOW);
                // mutant: key - before, key > before) => key - before + 1u, key > before)
                var early = select(0u, key - before, key > before);
                // mutant: && key < before => && key + 1u < before
                let is_seen = sees && key >= before + seen_first && key < before + seen_end - first;
                // mutant: min(early, seen_first), is_seen => min(early, 0u), is_seen
                early = select(early, min(early, seen_first), is_seen);
                behind = f32(before) - f32(key);
                score(i % KEYS, base + slot_of(key) * ROW, i / KEYS, head_row, early, late);
            }
        }
        workgroupBarrier();
        for (var n = lane; n < QUERIES; n += WG_SIZE) {
            advance(n, count);
        }
        workgroupBarrier();
        for (var n = 0u; n < 8u; n++) {
            sum[n] *= rescale[first_query + n];
        }
        for (var i = 0u; i < count; i++) {
            let v = v_pair(base + slot_of(tile + i) * ROW, pair);
            for (var n = 0u; n < 8u; n++) {
                sum[n] += weights[(first_query + n) * KEYS + i] * v;
            }
        }
        workgroupBarrier();
    }
    for (var n = 0u; n < 8u; n++) {
        // mutant: if first_query + n < queries { => if first_query + n < QUERIES {
        if first_query + n < queries {
            // mutant: * HEADS + head) * VALUE_DIM => * HEADS + head) * HEAD_DIM
            let to = ((first + first_query + n) * HEADS + head) * VALUE_DIM + 2u * pair;
            let value = sum[n] / total[first_query + n];
            y[to] = value.x;
            y[to + 1u] = value.y;
        }
    }
}
