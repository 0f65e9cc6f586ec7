// y[i] = Σ_j softmax_j(s[i, j]) v[j] and lse[i] = log Σ_j e^s[i, j], s[i, j] = cap(q[i]·k[j] * scale) + mask[i, j]
// (flash attention, Dao et al. 2022, arXiv 2205.14135). A query that attends to no key gets y = 0 and lse = 0.
//
// What `attention_strided` computes, with the log-sum-exp that the gradient needs. One workgroup computes TILE rows and
// walks over the keys, PARTS tiles at a time: as many columns as y has, so that 8 × 8 scores and 8 × 8 elements of y
// are in the registers of each thread. Weights go through workgroup memory 16 keys at a time.

#import attention_tiles

override PARTS: u32 = (HEAD_DIM + TILE - 1u) / TILE;
override WG_SIZE: u32 = PARTS * THREADS;
const A_STEPS = 16u;       // a slice of weights
const B_STEPS = 4u * DEPTH; // of as many parts as there can be

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> q: array<vec4<f32>>;       // [batch, heads, queries, HEAD_DIM]
@group(0) @binding(2) var<storage, read> k: array<vec4<f32>>;       // [batch, kv heads, keys, HEAD_DIM]
@group(0) @binding(3) var<storage, read> v: array<vec4<f32>>;       // the same
@group(0) @binding(4) var<storage, read> mask: array<f32>;          // [batch, heads, queries, keys] by strides
@group(0) @binding(5) var<storage, read_write> y: array<vec4<f32>>; // like q
@group(0) @binding(6) var<storage, read_write> lse: array<f32>;     // [batch, heads, queries]

#import attention_scores
#import attention_rows

fn row_value(of_values: bool, i: u32) -> vec4<f32> {
    return q[i];
}

fn key_value(of_values: bool, i: u32) -> vec4<f32> {
    return k[i];
}

fn write(head: u32, row: u32, column: u32, sums: vec4<f32>) {
    if row < rows_of_head() && column < HEAD_DIM {
        y[(head * rows_of_head() + row) * VECS + column / 4u] = sums;
    }
}

fn write_lse(head: u32, row: u32, high: f32, total: f32) {
    if row < rows_of_head() {
        // mutant: high + log(total), total > 0.0 => log(total), total > 0.0
        lse[head * rows_of_head() + row] = select(0.0, high + log(total), total > 0.0);
    }
}

// sums += weights · v, of the keys from place.key on. A slice of 16 keys are two of every four neighbours in half a
// tile: those of its thread t are steps t and t + SIDE.
fn accumulate(sums: ptr<function, Sums>, weights: ptr<function, Sums>, place: Place, lane: u32) {
    let tx = lane % SIDE;
    let ty = lane % THREADS / SIDE;
    let step = lane / (QUADS * PARTS);
    let quad = lane % (QUADS * PARTS);
    let at = (quad / QUADS * DEPTH + step) * STRIDE + quad % QUADS;
    let from_v = place.head * params.keys * VECS + min(quad, VECS - 1u);
    let last = params.keys - 1u;
    // Behind the last key all weights are 0.
    let end = 4u * min((params.keys - place.key + 31u) / 32u, 2u * PARTS);
    var key = place.key + step * 4u;
    var v_0 = v[from_v + min(key, last) * VECS];
    var v_1 = v[from_v + min(key + 16u, last) * VECS];
    for (var i = 0u; i < end; i++) {
        workgroupBarrier();
        if i % 2u == 0u && lane / THREADS == i / 8u {
            put(weights, i / 2u % 4u, tx, ty);
        }
        b_tile[at] = v_0;
        b_tile[at + 4u * STRIDE] = v_1;
        workgroupBarrier();
        // mutant: (i + 1u) % 4u => i % 4u
        key = place.key + (i + 1u) / 4u * 32u + (i + 1u) % 4u + step * 4u;
        v_0 = v[from_v + min(key, last) * VECS];
        v_1 = v[from_v + min(key + 16u, last) * VECS];
        for (var s = 0u; s < DEPTH; s++) {
            multiply(sums, s, lane / THREADS * DEPTH * STRIDE + tx, i % 2u * DEPTH * STRIDE + ty);
        }
    }
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: group.y * groups.x + group.x => group.x
    let id = group.y * groups.x + group.x;
    let tiles = tiles_in(rows_of_head());
    let head = id / tiles;
    if head >= params.batch * params.heads / params.group {
        return;
    }
    let row = (tiles - 1u - id % tiles) * TILE; // those that see the most begin first
    let own = row + lane % THREADS / SIDE * 4u;
    let column = lane / THREADS * TILE + lane % SIDE * 4u;

    var sums = Sums();
    var high = Rows(vec4<f32>(LOWEST), vec4<f32>(LOWEST));
    var total = Rows();
    let keys = seen_by_tile(row);
    for (var key = keys.x; key < keys.y; key += TILE * PARTS) {
        var weights = products(false, Place(head, row, key), lane);
        all_scores(&weights, head, own, key + column);
        let highest = highest_of(&weights, high, lane);
        all_weights(&weights, highest);
        let factor = Rows(exp(high.low - highest.low), exp(high.far - highest.far));
        total = total_of(&weights, total, factor);
        high = highest;
        scale_rows(&sums, factor);
        accumulate(&sums, &weights, Place(head, row, key), lane);
    }

    total = shared_total(total, lane);
    scale_rows(&sums, Rows(inverse(total.low), inverse(total.far)));
    var totals = Totals();
    flush(&sums, &totals);
    write_all(&totals, head, own, column);
    if column == 0u {
        for (var i = 0u; i < 4u; i++) {
            write_lse(head, own + i, high.low[i], total.low[i]);
            write_lse(head, own + HALF + i, high.far[i], total.far[i]);
        }
    }
}
