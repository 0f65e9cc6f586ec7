// y[i] = Σ_j softmax_j(s[i, j]) v[j], s[i, j] = cap(q[i]·k[j] * scale) + mask[i, j], cap(s) = c * tanh(s / c) with the
// soft cap c (flash attention, Dao et al. 2022, arXiv 2205.14135). Query i attends to the keys up to i + keys - queries
// where causal, else to all; of these to the last `window`, and to none where the mask is below -1e38. A query that
// attends to no key gets y = 0.
// One workgroup computes QUERIES queries of one head of one sequence, walking the keys in tiles with a running maximum.
//
// Separate from `attention`, which serves the model: there the keys are an f16 cache, sizes are fixed with the pipeline
// and the position is in the state. Here sizes and strides are parameters and keys may be f32.

override WG_SIZE: u32 = 64;
override HEAD_DIM: u32;     // at most 256
override QUERIES: u32;      // 16, or 8 for heads of more than 128: divides WG_SIZE

struct Params {
    batch: u32,
    heads: u32,
    group: u32,      // query heads per kv head
    queries: u32,
    keys: u32,
    q_batch: u32,    // elements of q and y from a sequence, a head and a query to the next
    q_head: u32,
    q_row: u32,
    kv_batch: u32,   // the same of k and v
    kv_head: u32,
    kv_row: u32,
    masked: u32,     // 1: there is a mask
    mask_batch: u32, // elements of the mask from a sequence, a head, a query and a key to the next; 0 repeats
    mask_head: u32,
    mask_row: u32,
    mask_key: u32,
    causal: u32,
    window: u32,     // 0: no window
    scale: f32,
    soft_cap: f32,   // 0: none
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> q: array<f32>;         // [batch, heads, queries, HEAD_DIM] by strides
@group(0) @binding(2) var<storage, read> k: array<kv_elem>;     // [batch, kv heads, keys, HEAD_DIM] by strides
@group(0) @binding(3) var<storage, read> v: array<kv_elem>;     // the same
@group(0) @binding(4) var<storage, read> mask: array<f32>;      // [batch, heads, queries, keys] by strides
@group(0) @binding(5) var<storage, read_write> y: array<f32>;   // like q

#import kv
#import visible

const KEYS: u32 = 32u;         // of a tile
const MAX_EACH: u32 = 8u;      // queries of a thread
override VECS: u32 = (HEAD_DIM + 3) / 4;
override THREAD_GROUP: u32 = QUERIES * KEYS / WG_SIZE; // queries of a thread that scores one key
override ROWS_PER_GROUP: u32 = WG_SIZE / VECS;                     // threads that share four columns of v
override EACH: u32 = (QUERIES + ROWS_PER_GROUP - 1) / ROWS_PER_GROUP;       // queries of each of them

// After the overrides above: naga evaluates them in order, and none past the first array that one sizes.
#import online_softmax

var<workgroup> q_tile: array<vec4<f32>, QUERIES * VECS>;

struct Place {
    sequence: u32,
    first: u32,    // query of the workgroup
    q_at: u32,     // where its head's queries, keys and mask start
    kv_at: u32,
    mask_at: u32,
}

fn place_of(workgroup: u32) -> Place {
    // mutant: (params.queries + QUERIES - 1u) / QUERIES => (params.queries + QUERIES) / QUERIES
    let tiles = (params.queries + QUERIES - 1u) / QUERIES;
    let head = (workgroup / tiles) % params.heads;
    let sequence = workgroup / tiles / params.heads;
    return Place(
        sequence,
        (workgroup % tiles) * QUERIES,
        sequence * params.q_batch + head * params.q_head,
        // mutant: (head / params.group) * params.kv_head => (head % params.group) * params.kv_head
        sequence * params.kv_batch + (head / params.group) * params.kv_head,
        // mutant: sequence * params.mask_batch + head * params.mask_head => head * params.mask_head
        sequence * params.mask_batch + head * params.mask_head,
    );
}

fn load_queries(place: Place, lane: u32) {
    for (var i = lane; i < QUERIES * VECS * 4u; i += WG_SIZE) {
        let row = min(place.first + i / (VECS * 4u), params.queries - 1u);
        let column = i % (VECS * 4u);
        let value = q[place.q_at + row * params.q_row + min(column, HEAD_DIM - 1u)];
        q_tile[i / 4u][i % 4u] = select(0.0, value, column < HEAD_DIM);
    }
}

// Scores of a key against the queries of the thread's thread group.
fn score(place: Place, key: u32, lane: u32) {
    let thread_group = (lane / KEYS) * THREAD_GROUP;
    let row = place.kv_at + key * params.kv_row;
    var products: array<f32, MAX_EACH>;
    for (var i = 0u; i < VECS; i++) {
        let of_key = load_k(row, 4u * i);
        for (var n = 0u; n < THREAD_GROUP; n++) {
            products[n] += dot(q_tile[(thread_group + n) * VECS + i], of_key);
        }
    }
    for (var n = 0u; n < THREAD_GROUP; n++) {
        let query = place.first + thread_group + n;
        weights[(thread_group + n) * KEYS + lane % KEYS] = admit(products[n], query, key, place.mask_at);
    }
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: place_of(group.y * groups.x + group.x) => place_of(group.x)
    let place = place_of(group.y * groups.x + group.x);
    if place.sequence >= params.batch {
        return;
    }
    load_queries(place, lane);
    start_softmax(lane);

    let column = 4u * (lane % VECS);
    let first_query = (lane / VECS) * EACH;                      // QUERIES or more: nothing to do
    var sum: array<vec4<f32>, MAX_EACH>;
    let first = place.first;
    // mutant: let end = seen(min(first + QUERIES, params.queries) - 1u).y; => let end = seen(first).y;
    let end = seen(min(first + QUERIES, params.queries) - 1u).y;
    for (var tile = seen(first).x; tile < end; tile += KEYS) {
        let count = min(KEYS, end - tile);
        if lane % KEYS < count {
            score(place, tile + lane % KEYS, lane);
        }
        workgroupBarrier();
        advance(lane, count);
        for (var n = 0u; n < EACH; n++) {
            sum[n] *= rescale[min(first_query + n, QUERIES - 1u)];
        }
        for (var i = 0u; i < count && first_query < QUERIES; i++) {
            let value = load_v(place.kv_at + (tile + i) * params.kv_row, column);
            for (var n = 0u; n < EACH; n++) {
                sum[n] += weights[min(first_query + n, QUERIES - 1u) * KEYS + i] * value;
            }
        }
        workgroupBarrier();
    }
    // mutant: && first + first_query + n < params.queries; n++ => ; n++
    for (var n = 0u; n < EACH && first_query + n < QUERIES && first + first_query + n < params.queries; n++) {
        // mutant: total[first_query + n] > 0.0 => total[first_query + n] >= 0.0
        let factor = select(0.0, 1.0 / total[first_query + n], total[first_query + n] > 0.0);
        let row = place.q_at + (first + first_query + n) * params.q_row;
        for (var i = column; i < min(column + 4u, HEAD_DIM); i++) {
            y[row + i] = sum[n][i - column] * factor;
        }
    }
}
