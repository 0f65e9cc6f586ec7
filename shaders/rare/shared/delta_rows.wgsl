// A few rows of q, k and v in workgroup memory, and what the gated delta rule makes of each of them.
struct Factors {
    decay: f32,  // w = v · V − Sᵀk · K,  S = decay · S + k ⊗ w,  o = Sᵀq · Q + w · W
    of_v: f32,
    of_k: f32,
    of_q: f32,
    of_w: f32,
    live: u32,   // 0 for a row of another sequence or of one that is done: S stays, there is no o
}

var<workgroup> q_tile: array<vec4<f32>, TILE_WIDTH>;
var<workgroup> k_tile: array<vec4<f32>, TILE_WIDTH>;
var<workgroup> v_tile: array<f32, TILE_COLUMNS>;
var<workgroup> products: array<vec3<f32>, WG_SIZE>; // q · q, k · k and q · k of each slice of a row
var<workgroup> factors: array<Factors, TILE>;

// Four values of a head, from value `i` on; zeros past its end.
fn head_values(start: u32, i: u32) -> vec4<f32> {
    let at = vec4<u32>(0u, 1u, 2u, 3u) + i;
    let safe = min(at, vec4<u32>(HEAD_DIM - 1u)) + start;
    let values = vec4<f32>(qkv[safe.x], qkv[safe.y], qkv[safe.z], qkv[safe.w]);
    // mutant (delta_net): at < vec4<u32>(HEAD_DIM) => at <= vec4<u32>(HEAD_DIM)
    return select(vec4<f32>(), values, at < vec4<u32>(HEAD_DIM));
}

// Reads q, k and v of the TILE rows from `base` on. Past `end` it reads the last row again.
fn read_rows(base: u32, end: u32, head: u32, first_column: u32, lane: u32) {
    // mutant (delta_net): K_HEADS, TILED => K_HEADS, !TILED
    let k_head = select(head / (V_HEADS / K_HEADS), head % K_HEADS, TILED);
    let t = lane / SLICES;
    let start = min(base + t, end - 1u) * ROW + k_head * HEAD_DIM;
    var sums = vec3<f32>();
    for (var c = lane % SLICES; c < WIDTH; c += SLICES) {
        let q = head_values(start, 4u * c);
        let k = head_values(start + K_HEADS * HEAD_DIM, 4u * c);
        q_tile[t * WIDTH + c] = q;
        k_tile[t * WIDTH + c] = k;
        sums += vec3<f32>(dot(q, q), dot(k, k), dot(q, k));
    }
    products[lane] = sums;
    for (var i = lane; i < TILE_COLUMNS; i += WG_SIZE) {
        let row = min(base + i / COLUMNS, end - 1u);
        let column = min(first_column + i % COLUMNS, HEAD_DIM - 1u);
        v_tile[i] = qkv[row * ROW + (2u * K_HEADS + head) * HEAD_DIM + column];
    }
}

// log(1 + e^x), exact to f32 where e^x is small.
fn softplus(x: f32) -> f32 {
    let e = exp(-abs(x));
    // mutant (delta_net): e < 0.01 => e < 2.0
    return max(x, 0.0) + select(log(1.0 + e), e * (1.0 - e * (0.5 - e / 3.0)), e < 0.01);
}

fn factors_of(t: u32, row: u32, end: u32, head: u32, sequence: u32) -> Factors {
    if row >= end || !is_live(row, sequence) {
        return Factors(1.0, 0.0, 0.0, 0.0, 0.0, 0u);
    }
    var sums = vec3<f32>();
    for (var i = 0u; i < SLICES; i++) {
        sums += products[t * SLICES + i];
    }
    let lengths = inverseSqrt(sums.xy + EPS);
    let q = lengths.x * inverseSqrt(f32(HEAD_DIM));
    let of_v = lengths.y / (1.0 + exp(-max(beta[row * params.beta_stride + params.beta_at + head], -80.0)));
    let decay = exp(a[head] * softplus(alpha[row * params.alpha_stride + params.alpha_at + head] + dt_bias[head]));
    return Factors(decay, of_v, of_v * lengths.y * decay, q * decay, q * sums.z, 1u);
}
