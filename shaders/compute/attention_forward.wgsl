// y[i] = Σ_j softmax_j(s[i, j]) v[j] and lse[i] = log Σ_j e^s[i, j], s[i, j] = cap(q[i]·k[j] * scale) + mask[i, j]
// (flash attention, Dao et al. 2022, arXiv 2205.14135). A query that attends to no key gets y = 0 and lse = 0.
//
// What `attention_strided` computes, with the log-sum-exp that `attention_grad` needs. One workgroup computes ROWS
// queries of a head.

#import attention_tiles

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> q: array<vec4<f32>>;       // [batch, heads, queries, HEAD_DIM]
@group(0) @binding(2) var<storage, read> k: array<vec4<f32>>;       // [batch, kv heads, keys, HEAD_DIM]
@group(0) @binding(3) var<storage, read> v: array<vec4<f32>>;       // the same
@group(0) @binding(4) var<storage, read> mask: array<f32>;          // [batch, heads, queries, keys] by strides
@group(0) @binding(5) var<storage, read_write> y: array<vec4<f32>>; // like q
@group(0) @binding(6) var<storage, read_write> lse: array<f32>;     // [batch, heads, queries]

#import visible

fn own_value(scores: bool, i: u32) -> vec4<f32> {
    return q[i];
}

fn other_value(scores: bool, i: u32) -> vec4<f32> {
    if scores {
        return k[i];
    }
    return v[i];
}

// Scores of the thread's rows for its column j.
fn scores_of(column: vec4<f32>, query: u32, key: u32, mask_at: u32) -> vec4<f32> {
    var scores: vec4<f32>;
    for (var i = 0u; i < 4u; i++) {
        scores[i] = admit(column[i], query + i, key, mask_at);
    }
    return scores;
}

// Leaves `rows` of each thread in workgroup memory, for those that share its rows.
fn share(rows: vec4<f32>, lane: u32) {
    workgroupBarrier();
    stage[lane] = rows;
    workgroupBarrier();
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: group.y * groups.x + group.x => group.x
    let id = group.y * groups.x + group.x;
    let tiles = (params.queries + ROWS - 1u) / ROWS;
    let head = id / tiles;
    if head >= params.batch * params.heads {
        return;
    }
    let sequence = head / params.heads;
    let first = (tiles - 1u - id % tiles) * ROWS; // those that see the most begin first
    let own = Place((head * params.queries + first) * VECS, min(ROWS, params.queries - first));
    // mutant: head / params.group * params.keys => head % params.group * params.keys
    let kv = head / params.group * params.keys;
    let mask_at = sequence * params.mask_batch + head % params.heads * params.mask_head;
    let query = first + lane / 16u * 4u;

    var sums: array<vec4<f32>, 16>;
    var high = vec4<f32>(LOWEST);
    var total = vec4<f32>();
    // mutant: let end = seen(first + own.count - 1u).y; => let end = seen(first).y;
    let end = seen(first + own.count - 1u).y;
    for (var start = seen(first).x; start < end; start += COLUMNS) {
        let other = Place((kv + start) * VECS, min(COLUMNS, params.keys - start));
        let dots = products(true, own, other, lane);
        let near = scores_of(dots[0], query, start + lane % 16u, mask_at);
        let far = scores_of(dots[1], query, start + lane % 16u + 16u, mask_at);
        var highest = high;
        share(max(near, far), lane);
        for (var c = 0u; c < 16u; c++) {
            highest = max(highest, stage[lane / 16u * 16u + c]);
        }
        let factor = exp(high - highest);
        // mutant: select(vec4<f32>(), exp(near - highest), near > vec4<f32>(-2.0e38)) => exp(near - highest)
        let weights = select(vec4<f32>(), exp(near - highest), near > vec4<f32>(-2.0e38));
        let more = select(vec4<f32>(), exp(far - highest), far > vec4<f32>(-2.0e38));
        // mutant: total * factor + => total +
        total = total * factor + weights + more;
        high = highest;
        put(0u, weights, lane);
        put(1u, more, lane);
        for (var i = 0u; i < 4u * PARTS; i++) {
            sums[i] *= factor[i % 4u];
        }
        accumulate(false, other, lane, &sums);
    }

    share(total, lane);
    total = vec4<f32>();
    for (var c = 0u; c < 16u; c++) {
        total += stage[lane / 16u * 16u + c];
    }
    for (var i = 0u; i < 4u && query + i < params.queries; i++) {
        let row = head * params.queries + query + i;
        let is_any = total[i] > 0.0;
        for (var j = 0u; j < PARTS && 16u * j + lane % 16u < VECS; j++) {
            y[row * VECS + 16u * j + lane % 16u] = select(vec4<f32>(), sums[4u * j + i] / total[i], is_any);
        }
        // mutant: high[i] + log(total[i]) => log(total[i])
        lse[row] = select(0.0, high[i] + log(total[i]), is_any);
    }
}
