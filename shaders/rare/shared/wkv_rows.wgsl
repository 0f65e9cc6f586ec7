// A few rows of a head in workgroup memory, as RWKV's time mixing wants them.
struct Factors {
    removes: f32,  // of S · removed: y = S · asked + v · of_v + taken · of_taken
    of_v: f32,
    of_taken: f32,
    live: u32,     // 0 for a row of another sequence or of one that is done: S stays, there is no y
}

var<workgroup> removed: array<vec4<f32>, TILE_WIDTH>; // removal key
var<workgroup> asked: array<vec4<f32>, TILE_WIDTH>;   // r · decay
var<workgroup> kept: array<vec4<f32>, TILE_WIDTH>;    // decay
var<workgroup> keys: array<vec4<f32>, TILE_WIDTH>;    // key
var<workgroup> added: array<vec4<f32>, TILE_WIDTH>;   // removal key · in-context learning rate
var<workgroup> v_tile: array<f32, TILE_COLUMNS>;
var<workgroup> products: array<vec3<f32>, WG_SIZE>; // removed · removed, r · key and r · added of each slice of a row
var<workgroup> factors: array<Factors, TILE>;

// Where four values of a head are, from value `i` on, and which of them are there.
struct Quad {
    at: vec4<u32>,
    is_there: vec4<bool>,
}

fn quad_of(i: u32) -> Quad {
    let at = vec4<u32>(0u, 1u, 2u, 3u) + i;
    // mutant (wkv): at < vec4<u32>(HEAD_DIM) => at <= vec4<u32>(HEAD_DIM)
    return Quad(min(at, vec4<u32>(HEAD_DIM - 1u)), at < vec4<u32>(HEAD_DIM));
}

fn of_head(at: vec4<u32>) -> vec4<f32> {
    return vec4<f32>(of_heads[at.x], of_heads[at.y], of_heads[at.z], of_heads[at.w]);
}

// Reads four values of a row of the tile and gives their part in its products.
fn read_quad(row: u32, head: u32, i: u32, to: u32) -> vec3<f32> {
    let quad = quad_of(i);
    let at = quad.at + (row * HEADS + head) * HEAD_DIM;
    // mutant (wkv): head / (HEADS / KV_HEADS) => head % KV_HEADS
    let key_at = quad.at + (row * KV_HEADS + head / (HEADS / KV_HEADS)) * HEAD_DIM;
    let w_at = quad.at + (row * HEADS + head) * select(1u, 2u, FORM == 2u) * HEAD_DIM;
    let none = vec4<f32>();
    let query = select(none, vec4<f32>(r[at.x], r[at.y], r[at.z], r[at.w]), quad.is_there);
    var key = select(none, vec4<f32>(k[key_at.x], k[key_at.y], k[key_at.z], k[key_at.w]), quad.is_there);
    let raw = vec4<f32>(w[w_at.x], w[w_at.y], w[w_at.z], w[w_at.w]);
    let own = head * HEAD_DIM + quad.at;
    var decay = exp(-exp(min(raw, vec4<f32>(80.0))));
    var ask = query;
    var remove = none;
    var add = none;
    var direct = key;
    if FORM == 2u {
        let rate_at = w_at + HEAD_DIM;
        let rate = logistic(vec4<f32>(w[rate_at.x], w[rate_at.y], w[rate_at.z], w[rate_at.w]));
        decay = exp(-0.606531 * logistic(raw));
        remove = key * of_head(own);
        add = remove * rate;
        key = replacement_key(key, rate, of_head(own + HEADS * HEAD_DIM));
        direct = key;
        ask = query * decay;
    } else if FORM == 1u {
        key *= 1.0 - decay;
        ask = query * decay * inverseSqrt(f32(HEAD_DIM));
        direct = key * inverseSqrt(f32(HEAD_DIM));
    } else {
        direct = key * of_head(own);
    }
    removed[to] = remove;
    asked[to] = ask;
    kept[to] = decay;
    keys[to] = key;
    added[to] = add;
    return vec3<f32>(dot(remove, remove), dot(query, direct), dot(query, add));
}

// Reads the TILE rows from `base` on. Past `end` it reads the last row again.
fn read_rows(base: u32, end: u32, head: u32, first_column: u32, lane: u32) {
    let t = lane / SLICES;
    let row = min(base + t, end - 1u);
    var sums = vec3<f32>();
    for (var c = lane % SLICES; c < WIDTH; c += SLICES) {
        sums += read_quad(row, head, 4u * c, t * WIDTH + c);
    }
    products[lane] = sums;
    for (var i = lane; i < TILE_COLUMNS; i += WG_SIZE) {
        let source = min(base + i / COLUMNS, end - 1u);
        let column = min(first_column + i % COLUMNS, HEAD_DIM - 1u);
        v_tile[i] = v[(source * KV_HEADS + head / (HEADS / KV_HEADS)) * HEAD_DIM + column];
    }
}

fn factors_of(t: u32, row: u32, end: u32, sequence: u32) -> Factors {
    if row >= end || !is_live(row, sequence) {
        return Factors(0.0, 0.0, 0.0, 0u);
    }
    var sums = vec3<f32>();
    for (var i = 0u; i < SLICES; i++) {
        sums += products[t * SLICES + i];
    }
    // The removal key has length 1 on both sides of S.
    // mutant (wkv): max(sums.x, 1e-24) => max(sums.x, 1.0)
    return Factors(-1.0 / max(sums.x, 1e-24), sums.y, sums.z, 1u);
}
