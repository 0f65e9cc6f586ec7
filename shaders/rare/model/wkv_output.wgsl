// y = (norm(y) + v (r · R_K k)) * gate for each head: what RWKV's time mixing ends with (Peng et al. 2025, arXiv
// 2503.14456). The norm is a layer norm over the head with weights of its own; k is RWKV-7's, as in `wkv`. Each of the
// three may be missing. One workgroup computes a head of a row.

override WG_SIZE: u32 = 64;
override HEADS: u32;
override HEAD_DIM: u32;
override NORMED: bool;
override EPS: f32;       // added to the variance
override OWN: bool;      // with what the token's own key and value add
override GATED: bool;
override WIDTH: u32 = HEADS * HEAD_DIM;

struct Params {
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> r: array<f32>;        // [rows, WIDTH]
@group(0) @binding(2) var<storage, read> w: array<f32>;        // [rows, HEADS, 2, HEAD_DIM]: w and rate of each head
@group(0) @binding(3) var<storage, read> k: array<f32>;        // [rows, WIDTH]
@group(0) @binding(4) var<storage, read> v: array<f32>;        // [rows, WIDTH]
@group(0) @binding(5) var<storage, read> gate: array<f32>;     // [rows, WIDTH]
@group(0) @binding(6) var<storage, read> of_heads: array<f32>; // [WIDTH] each: of the norm weight and bias, K_A, R_K
@group(0) @binding(7) var<storage, read_write> y: array<f32>;  // [rows, WIDTH]

#import reduce
#import wkv_key

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let head = group.y * HEAD_DIM;
    let start = group.x * WIDTH + head;
    var mean = 0.0;
    var scale = 1.0;
    if NORMED {
        var sum = 0.0;
        for (var i = lane; i < HEAD_DIM; i += WG_SIZE) {
            sum += y[start + i];
        }
        mean = workgroup_sum(sum, lane) / f32(HEAD_DIM);
        var squares = 0.0;
        for (var i = lane; i < HEAD_DIM; i += WG_SIZE) {
            squares += (y[start + i] - mean) * (y[start + i] - mean);
        }
        // mutant: f32(HEAD_DIM) + EPS => f32(HEAD_DIM)
        scale = inverseSqrt(workgroup_sum(squares, lane) / f32(HEAD_DIM) + EPS);
    }
    var own = 0.0;
    if OWN {
        let own_at = select(0u, 2u * WIDTH, NORMED) + head; // where K_A starts
        for (var i = lane; i < HEAD_DIM; i += WG_SIZE) {
            let rate = logistic(vec4<f32>(w[2u * start + HEAD_DIM + i]));
            let share = vec4<f32>(of_heads[own_at + i]);
            let key = replacement_key(vec4<f32>(k[start + i]), rate, share).x;
            own += r[start + i] * of_heads[own_at + WIDTH + i] * key;
        }
        // mutant: workgroup_sum(own, lane) => own
        own = workgroup_sum(own, lane);
    }
    for (var i = lane; i < HEAD_DIM; i += WG_SIZE) {
        var value = (y[start + i] - mean) * scale;
        if NORMED {
            // mutant: WIDTH + head + i] => WIDTH + i]
            value = value * of_heads[head + i] + of_heads[WIDTH + head + i];
        }
        if OWN {
            value += own * v[start + i];
        }
        if GATED {
            value *= gate[start + i];
        }
        y[start + i] = value;
    }
}
