// Scores of a tile. A workgroup has PARTS times THREADS threads, those of each part for a tile of their own, one after
// the other along the keys; DEPTH steps of HEAD_DIM are in workgroup memory at a time. The kernel says what is
// multiplied: `row_value` and `key_value` give four numbers of q and k, or (of_values) of dy and v.

#import soft_cap
#import lowest

var<workgroup> a_tile: array<vec4<real>, A_STEPS * STRIDE>; // [step, QUADS of rows]
var<workgroup> b_tile: array<vec4<real>, B_STEPS * STRIDE>; // [part, DEPTH, QUADS of keys]

// The first row and key of a tile, and their head.
struct Place {
    head: u32,
    row: u32,
    key: u32,
}

// Rows · keysᵀ: of q and k, or of dy and v. A thread fetches two vectors of either for the next DEPTH steps while the
// products of these are added up.
fn products(of_values: bool, place: Place, lane: u32) -> Sums {
    let rows = rows_of_head();
    let row = place.row + lane % THREADS / 2u;
    let key = place.key + lane / 2u;
    let row_at = (place.head * rows + min(vec2<u32>(row, row + SIDE * 4u), vec2<u32>(rows - 1u))) * VECS + lane % 2u;
    let last = vec2<u32>(params.keys - 1u);
    let key_at = (place.head * params.keys + min(vec2<u32>(key, key + PARTS * 32u), last)) * VECS + lane % 2u;
    var row_0 = row_value(of_values, row_at.x);
    var row_1 = row_value(of_values, row_at.y);
    var key_0 = key_value(of_values, key_at.x);
    var key_1 = key_value(of_values, key_at.y);
    var sums = Sums();
    for (var d = 0u; d < params.dim; d += DEPTH) {
        workgroupBarrier();
        if lane < THREADS {
            stage_row(lane / 2u, lane % 2u * 4u, row_0);
            stage_row(lane / 2u + 32u, lane % 2u * 4u, row_1);
        }
        stage_key(lane / 2u, lane % 2u * 4u, key_0);
        stage_key(lane / 2u + 32u * PARTS, lane % 2u * 4u, key_1);
        workgroupBarrier();
        let next = min((d + DEPTH) / 4u, VECS - 2u);
        row_0 = row_value(of_values, row_at.x + next);
        row_1 = row_value(of_values, row_at.y + next);
        key_0 = key_value(of_values, key_at.x + next);
        key_1 = key_value(of_values, key_at.y + next);
        for (var step = 0u; step < DEPTH; step++) {
            multiply(&sums, step, lane / THREADS * DEPTH * STRIDE + lane % SIDE, lane % THREADS / SIDE);
        }
    }
    return sums;
}

// Puts four steps of a row, or of a key, where they belong.
fn stage_row(row: u32, step: u32, values: vec4<f32>) {
    for (var i = 0u; i < 4u; i++) {
        // mutant (compute/attention_forward, compute/attention_weights): row % 4u => 0u
        a_tile[(step + i) * STRIDE + row / 4u][row % 4u] = values[i];
    }
}

fn stage_key(key: u32, step: u32, values: vec4<f32>) {
    let first = key / TILE * DEPTH + step;
    for (var i = 0u; i < 4u; i++) {
        b_tile[(first + i) * STRIDE + key % TILE / 4u][key % 4u] = values[i];
    }
}

// The scores of a row for four keys from these products; LOWEST where it does not attend.
fn scores_of(product: vec4<f32>, head: u32, row: u32, key: u32) -> vec4<f32> {
    var scores = product * params.scale;
    // mutant (compute/attention_forward, compute/attention_weights): if params.soft_cap != 0.0 { => if false {
    if params.soft_cap != 0.0 {
        for (var i = 0u; i < 4u; i++) {
            scores[i] = soft_cap(scores[i], params.soft_cap);
        }
    }
    let query = row % params.queries;
    let keys = vec4<u32>(key) + vec4<u32>(0u, 1u, 2u, 3u);
    let range = seen(query);
    // mutant (compute/attention_forward, compute/attention_weights): vec4<u32>(range.x) => vec4<u32>(0u)
    var is_seen = (keys >= vec4<u32>(range.x)) & (keys < vec4<u32>(range.y));
    if params.masked != 0u {
        let kv_heads = params.heads / params.group;
        let query_head = head % kv_heads * params.group + row / params.queries;
        let start = head / kv_heads * params.mask_batch + query_head * params.mask_head + query * params.mask_row;
        for (var i = 0u; i < 4u; i++) {
            // mutant (compute/attention_forward, compute/attention_weights): keys[i], => key,
            let added = mask[start + min(keys[i], params.keys - 1u) * params.mask_key];
            is_seen[i] = is_seen[i] && added > -1.0e38;
            scores[i] += added;
        }
    }
    return select(vec4<f32>(LOWEST), max(scores, vec4<f32>(-1.0e38)), is_seen);
}
