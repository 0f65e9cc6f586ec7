// Gradients of attention from dy, that of its result (flash attention, Dao et al. 2022, arXiv 2205.14135): with
// p = e^(s − lse), dp = dy · vᵀ, delta[i] = dy[i] · y[i] and ds = p · (dp − delta) · cap'
//
//     dq = ds · k · scale      dk = dsᵀ · q · scale      dv = pᵀ · dy
//
// Scores are computed again from q and k. One workgroup computes ROWS rows of dq, or of dk and dv (OF_KEYS), for which
// it walks over the queries of all heads that share the keys.

override OF_KEYS: bool;

#import attention_tiles

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> q: array<vec4<f32>>;       // [batch, heads, queries, HEAD_DIM]
@group(0) @binding(2) var<storage, read> k: array<vec4<f32>>;       // [batch, kv heads, keys, HEAD_DIM]
@group(0) @binding(3) var<storage, read> v: array<vec4<f32>>;       // the same
@group(0) @binding(4) var<storage, read> dy: array<vec4<f32>>;      // like q
@group(0) @binding(5) var<storage, read> lse: array<f32>;           // [batch, heads, queries]
@group(0) @binding(6) var<storage, read> delta: array<f32>;         // the same
@group(0) @binding(7) var<storage, read> mask: array<f32>;          // [batch, heads, queries, keys] by strides
@group(0) @binding(8) var<storage, read_write> d: array<vec4<f32>>; // dq, or dk and behind it dv

#import visible

fn own_value(scores: bool, i: u32) -> vec4<f32> {
    if OF_KEYS {
        if scores {
            return k[i];
        }
        return v[i];
    }
    if scores {
        return q[i];
    }
    return dy[i];
}

fn other_value(scores: bool, i: u32) -> vec4<f32> {
    if OF_KEYS {
        if scores {
            return q[i];
        }
        return dy[i];
    }
    if scores {
        return k[i];
    }
    return v[i];
}

// The first of the others that the rows from `first` to `last` have to do with, and one past the last.
fn others_of(first: u32, last: u32) -> vec2<u32> {
    if !OF_KEYS {
        return vec2<u32>(seen(first).x, seen(last).y);
    }
    // Query i sees key j where i − shift − window < j ≤ i − shift.
    let shift = i32(params.queries) - i32(params.keys);
    // mutant: max(i32(first) + shift, 0) => max(i32(last) + shift, 0)
    let start = select(0, max(i32(first) + shift, 0), params.causal != 0u);
    // mutant: i32(last + params.window) + shift => i32(first + params.window) + shift
    let end = select(i32(params.queries), i32(last + params.window) + shift, params.window != 0u);
    return vec2<u32>(u32(start), u32(clamp(end, 0, i32(params.queries))));
}

// What a pair of query and key gives to the gradients: p and ds.
fn shares(product: f32, dp: f32, query: u32, key: u32, head: u32) -> vec2<f32> {
    let row = head * params.queries + min(query, params.queries - 1u);
    let mask_at = head / params.heads * params.mask_batch + head % params.heads * params.mask_head;
    let score = admit(product, query, key, mask_at);
    // mutant: && query < params.queries => && true
    let p = select(0.0, exp(score - lse[row]), score > -2.0e38 && query < params.queries);
    var ds = p * (dp - delta[row]);
    if params.soft_cap != 0.0 {
        let t = soft_cap(product * params.scale, params.soft_cap) / params.soft_cap;
        // mutant: 1.0 - t * t => 1.0
        ds *= 1.0 - t * t;
    }
    return vec2<f32>(p, ds);
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let id = group.y * groups.x + group.x;
    let count = select(params.queries, params.keys, OF_KEYS);
    let others = select(params.keys, params.queries, OF_KEYS);
    let heads = select(params.heads, params.heads / params.group, OF_KEYS) * params.batch;
    let tiles = (count + ROWS - 1u) / ROWS;
    let head = id / tiles; // of all sequences
    if head >= heads {
        return;
    }
    let first = select(tiles - 1u - id % tiles, id % tiles, OF_KEYS) * ROWS; // those with the most to do begin first
    let own = Place((head * count + first) * VECS, min(ROWS, count - first));
    let row = first + lane / 16u * 4u;
    let range = others_of(first, first + own.count - 1u);

    var of_scores: array<vec4<f32>, 16>;
    var of_values: array<vec4<f32>, 16>;
    // mutant: select(1u, params.group, OF_KEYS) => 1u
    for (var member = 0u; member < select(1u, params.group, OF_KEYS); member++) {
        // mutant: head * params.group + member, => head * params.group,
        let other_head = select(head / params.group, head * params.group + member, OF_KEYS);
        let query_head = select(head, other_head, OF_KEYS);
        for (var start = range.x; start < range.y; start += COLUMNS) {
            let other = Place((other_head * others + start) * VECS, min(COLUMNS, others - start));
            let dots = products(true, own, other, lane);
            let dp = products(false, own, other, lane);
            var p: array<vec4<f32>, 2>;
            var ds: array<vec4<f32>, 2>;
            for (var j = 0u; j < 2u; j++) {
                let column = start + lane % 16u + 16u * j;
                for (var i = 0u; i < 4u; i++) {
                    let query = select(row + i, column, OF_KEYS);
                    let key = select(column, row + i, OF_KEYS);
                    let both = shares(dots[j][i], dp[j][i], query, key, query_head);
                    p[j][i] = both.x;
                    ds[j][i] = both.y;
                }
            }
            if OF_KEYS {
                put(0u, p[0], lane);
                put(1u, p[1], lane);
                accumulate(false, other, lane, &of_values);
                workgroupBarrier();
            }
            put(0u, ds[0], lane);
            put(1u, ds[1], lane);
            accumulate(true, other, lane, &of_scores);
        }
    }

    for (var i = 0u; i < 4u && row + i < count; i++) {
        for (var j = 0u; j < PARTS && 16u * j + lane % 16u < VECS; j++) {
            let at = (head * count + row + i) * VECS + 16u * j + lane % 16u;
            // mutant: * params.scale => * 1.0
            d[at] = of_scores[4u * j + i] * params.scale;
            if OF_KEYS {
                d[heads * count * VECS + at] = of_values[4u * j + i];
            }
        }
    }
}
