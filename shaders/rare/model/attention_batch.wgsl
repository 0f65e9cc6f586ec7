// y[i] = Σ_j softmax_j(s[i, j]) v[j] over rows j of the same input as row i, s[i, j] = cap(q[i]·k[j] * scale):
// attention of the inputs of a pass among themselves, without a cache (flash attention, Dao et al. 2022, arXiv
// 2205.14135).
// A row sees all rows of its input, or with `causal` those up to itself; of these with a window those at most window/2
// away, or with `causal` the last `window`.
// One workgroup computes QUERIES neighbouring rows of one head, which may be of several inputs, walking the rows that
// any of them sees in tiles with a running maximum.
#import pass

override WG_SIZE: u32 = 64;
override HEAD_DIM: u32;     // at most 256
override QUERIES: u32;      // 16, or 8 for heads of more than 128: divides WG_SIZE

struct Params {
    heads: u32,
    group: u32,      // query heads per kv head
    stride: u32,     // values from a row of qkv to the next
    k_at: u32,       // value of a row where its keys start
    v_at: u32,
    causal: u32,
    window: u32,     // 0: no window
    scale: f32,
    soft_cap: f32,   // 0: none
    alibi: f32,      // the bias of ALiBi, see alibi.wgsl; 0: none
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> inputs: array<vec2<u32>>; // of each sequence: first row, one past the last
@group(0) @binding(3) var<storage, read> q: array<f32>;            // [rows, stride]
@group(0) @binding(4) var<storage, read> k: array<kv_elem>;        // the same buffer
@group(0) @binding(5) var<storage, read> v: array<kv_elem>;        // the same buffer
@group(0) @binding(6) var<storage, read_write> y: array<f32>;      // [rows, heads, HEAD_DIM]

#import kv
#import lowest
#import soft_cap
#import alibi
#import rows_seen

const KEYS: u32 = 32u;         // of a tile
const MAX_EACH: u32 = 8u;      // queries of a thread
override VECS: u32 = (HEAD_DIM + 3) / 4;
override THREAD_GROUP: u32 = QUERIES * KEYS / WG_SIZE;                // queries of a thread that scores one key
override ROWS_PER_GROUP: u32 = WG_SIZE / VECS;                        // threads that share four columns of v
override EACH: u32 = (QUERIES + ROWS_PER_GROUP - 1) / ROWS_PER_GROUP; // queries of each of them

// After the overrides above: naga evaluates them in order, and none past the first array that one sizes.
#import online_softmax

var<private> slope: f32;       // of the head
var<private> first_query: u32; // row of the workgroup's first query

var<workgroup> q_tile: array<vec4<f32>, QUERIES * VECS>;
var<workgroup> bounds: array<vec2<u32>, QUERIES>;   // what each query sees

fn load_queries(first: u32, head: u32, lane: u32) {
    for (var i = lane; i < QUERIES * VECS * 4u; i += WG_SIZE) {
        let row = min(first + i / (VECS * 4u), this_pass.rows - 1u);
        let column = i % (VECS * 4u);
        let value = q[row * params.stride + head * HEAD_DIM + min(column, HEAD_DIM - 1u)];
        q_tile[i / 4u][i % 4u] = select(0.0, value, column < HEAD_DIM);
    }
    for (var n = lane; n < QUERIES; n += WG_SIZE) {
        bounds[n] = seen(min(first + n, this_pass.rows - 1u));
    }
}

// Scores of the key of a row, at element `at` of k, against the queries of the thread's thread group.
fn score(row: u32, at: u32, lane: u32) {
    let thread_group = (lane / KEYS) * THREAD_GROUP;
    var products: array<f32, MAX_EACH>;
    for (var i = 0u; i < VECS; i++) {
        let of_key = load_k(at, 4u * i);
        for (var n = 0u; n < THREAD_GROUP; n++) {
            products[n] += dot(q_tile[(thread_group + n) * VECS + i], of_key);
        }
    }
    for (var n = 0u; n < THREAD_GROUP; n++) {
        let bound = bounds[thread_group + n];
        var value = products[n] * params.scale;
        if params.soft_cap != 0.0 {
            value = soft_cap(value, params.soft_cap);
        }
        if params.alibi != 0.0 {
            // mutant: abs(f32(row) => (f32(row)
            value -= slope * abs(f32(row) - f32(first_query + thread_group + n));
        }
#import distance_bias
        // mutant: row >= bound.x && row < bound.y => row < bound.y
        weights[(thread_group + n) * KEYS + lane % KEYS] = select(LOWEST, value, row >= bound.x && row < bound.y);
    }
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let head = group.x;
    let first = group.y * QUERIES;
    if first >= this_pass.rows {
        return;
    }
    slope = alibi_slope(head, params.heads, params.alibi);
    first_query = first;
    load_queries(first, head, lane);
    start_softmax(lane);

    let column = 4u * (lane % VECS);
    let own_query = (lane / VECS) * EACH;                    // QUERIES or more: nothing to do
    var sum: array<vec4<f32>, MAX_EACH>;
    // mutant: (head / params.group) => (head % params.group)
    let of_head = (head / params.group) * HEAD_DIM;
    // mutant: let end = seen(min(first + QUERIES, this_pass.rows) - 1u).y; => let end = seen(first).y;
    let end = seen(min(first + QUERIES, this_pass.rows) - 1u).y;
    for (var tile = seen(first).x; tile < end; tile += KEYS) {
        let count = min(KEYS, end - tile);
        if lane % KEYS < count {
            let row = tile + lane % KEYS;
            score(row, row * params.stride + params.k_at + of_head, lane);
        }
        workgroupBarrier();
        advance(lane, count);
        for (var n = 0u; n < EACH; n++) {
            sum[n] *= rescale[min(own_query + n, QUERIES - 1u)];
        }
        for (var i = 0u; i < count && own_query < QUERIES; i++) {
            let value = load_v((tile + i) * params.stride + params.v_at + of_head, column);
            for (var n = 0u; n < EACH; n++) {
                sum[n] += weights[min(own_query + n, QUERIES - 1u) * KEYS + i] * value;
            }
        }
        workgroupBarrier();
    }
    // mutant: && first + own_query + n < this_pass.rows; n++ => ; n++
    for (var n = 0u; n < EACH && own_query + n < QUERIES && first + own_query + n < this_pass.rows; n++) {
        let to = ((first + own_query + n) * params.heads + head) * HEAD_DIM;
        for (var i = column; i < min(column + 4u, HEAD_DIM); i++) {
            y[to + i] = sum[n][i - column] / total[own_query + n];
        }
    }
}
