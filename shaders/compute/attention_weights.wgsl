// What pairs of a query and a key give to the gradients of attention (flash attention, Dao et al. 2022, arXiv
// 2205.14135): with dp = dy · vᵀ and delta[i] = dy[i] · y[i],
//
//     p = e^(s − lse)      ds = p · (dp − delta) · cap' · scale
//
// Scores are computed again from q and k. One workgroup computes a tile of some rows' p and ds, those of the rows from
// first_row on of the heads from first_head on; `attention_grad` multiplies them. Where no row attends to a key of a
// tile, nothing is written.

#import attention_tiles

const PARTS = 1u;
const A_STEPS = DEPTH;
const B_STEPS = DEPTH;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> q: array<vec4<f32>>;     // [batch, heads, queries, HEAD_DIM]
@group(0) @binding(2) var<storage, read> k: array<vec4<f32>>;     // [batch, kv heads, keys, HEAD_DIM]
@group(0) @binding(3) var<storage, read> v: array<vec4<f32>>;     // the same
@group(0) @binding(4) var<storage, read> dy: array<vec4<f32>>;    // like q
@group(0) @binding(5) var<storage, read> lse: array<f32>;         // [batch, heads, queries]
@group(0) @binding(6) var<storage, read> delta: array<f32>;       // the same
@group(0) @binding(7) var<storage, read> mask: array<f32>;        // [batch, heads, queries, keys] by strides
// [2, head_count, tiles of rows, tiles of keys, TILE, TILE]: p, and behind it ds
@group(0) @binding(8) var<storage, read_write> weights: array<vec4<f32>>;

#import attention_scores

fn row_value(of_values: bool, i: u32) -> vec4<f32> {
    if of_values {
        return dy[i];
    }
    return q[i];
}

fn key_value(of_values: bool, i: u32) -> vec4<f32> {
    if of_values {
        return v[i];
    }
    return k[i];
}

// p and ds of a row i of the tile and four keys from j on; `at` is where the tile begins.
fn put(product: vec4<f32>, dp: vec4<f32>, place: Place, at: u32, i: u32, j: u32) {
    let row = min(place.row + i, rows_of_head() - 1u);
    let scores = scores_of(product, place.head, row, place.key + j);
    // mutant: vec4<bool>(place.row + i < rows_of_head()) => vec4<bool>(true)
    let is_seen = (scores > vec4<f32>(-2.0e38)) & vec4<bool>(place.row + i < rows_of_head());
    let own = place.head * rows_of_head() + row;
    let p = select(vec4<f32>(), exp(scores - lse[own]), is_seen);
    // mutant: * params.scale; => * 1.0;
    var ds = p * (dp - delta[own]) * params.scale;
    if params.soft_cap != 0.0 {
        for (var c = 0u; c < 4u; c++) {
            let t = soft_cap(product[c] * params.scale, params.soft_cap) / params.soft_cap;
            // mutant: 1.0 - t * t => 1.0
            ds[c] *= 1.0 - t * t;
        }
    }
    let element = at + i * QUADS + j / 4u;
    let behind = params.head_count * tiles_in(params.row_count) * tiles_in(params.keys) * TILE * QUADS;
    weights[element] = p;
    weights[behind + element] = ds;
}

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: group.y * groups.x + group.x => group.x
    let id = group.y * groups.x + group.x;
    let across = tiles_in(params.keys);
    let tiles = tiles_in(params.row_count) * across;
    // mutant: params.first_row + id => id
    let row = params.first_row + id % tiles / across * TILE;
    // mutant: params.first_head + id / tiles => id / tiles
    let place = Place(params.first_head + id / tiles, row, id % across * TILE);
    if id / tiles >= params.head_count || !is_tile_seen(place.row, place.key) {
        return;
    }
    let at = id * TILE * QUADS;
    let i = lane / SIDE * 4u;
    let j = lane % SIDE * 4u;
    let s = products(false, place, lane);
    let dp = products(true, place, lane);
    put(s[0], dp[0], place, at, i, j);
    put(s[1], dp[1], place, at, i, j + HALF);
    put(s[2], dp[2], place, at, i + 1u, j);
    put(s[3], dp[3], place, at, i + 1u, j + HALF);
    put(s[4], dp[4], place, at, i + 2u, j);
    put(s[5], dp[5], place, at, i + 2u, j + HALF);
    put(s[6], dp[6], place, at, i + 3u, j);
    put(s[7], dp[7], place, at, i + 3u, j + HALF);
    put(s[8], dp[8], place, at, i + HALF, j);
    put(s[9], dp[9], place, at, i + HALF, j + HALF);
    put(s[10], dp[10], place, at, i + HALF + 1u, j);
    put(s[11], dp[11], place, at, i + HALF + 1u, j + HALF);
    put(s[12], dp[12], place, at, i + HALF + 2u, j);
    put(s[13], dp[13], place, at, i + HALF + 2u, j + HALF);
    put(s[14], dp[14], place, at, i + HALF + 3u, j);
    put(s[15], dp[15], place, at, i + HALF + 3u, j + HALF);
}

// `dense_8x8` wants it.
fn write(z: u32, row: u32, column: u32, sums: vec4<f32>) {}
