// y[i] = Σ_d softmax_d(cap(scale · Σ_c q[i, c] w[c] (k_scale · u[c] · k[i - d, c] + far[d, c]))) v[i - d] for the rows
// i - d with d < SPAN from row i back: attention with an embedding of the distance (Transformer-XL, Dai et al. 2019,
// arXiv 1901.02860), as Gemma 4's encoder of sounds has it.
// One workgroup computes one head of one row.

override WG_SIZE: u32 = 64;
override HEAD_DIM: u32;
override SPAN: u32;            // rows that a row sees, its own included: at most 16
override WEIGHTED: bool;       // q has factors w, else 1
override KEYS_WEIGHTED: bool;  // k has factors u, else 1

struct Params {
    scale: f32,
    k_scale: f32,
    soft_cap: f32,
    q_stride: u32,   // values from one row to the next
    q_at: u32,       // value of a row where it starts
    k_stride: u32,
    k_at: u32,
    v_stride: u32,
    v_at: u32,
    far_stride: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> q: array<f32>;           // [rows, heads, HEAD_DIM]
@group(0) @binding(2) var<storage, read> k: array<f32>;           // the same
@group(0) @binding(3) var<storage, read> v: array<f32>;           // the same
@group(0) @binding(4) var<storage, read> far: array<f32>;         // the same: a row for each distance, from 0 on
@group(0) @binding(5) var<storage, read> weight: array<f32>;      // [HEAD_DIM]: w
@group(0) @binding(6) var<storage, read> key_weight: array<f32>;  // [HEAD_DIM]: u
@group(0) @binding(7) var<storage, read_write> y: array<f32>;     // [rows, heads, HEAD_DIM]

#import reduce
#import soft_cap

const MAX_SPAN: u32 = 16u;

// The score of the row that is `back` rows before, for this row and head.
fn score(row: u32, of_head: u32, back: u32, lane: u32) -> f32 {
    var sum = 0.0;
    for (var c = lane; c < HEAD_DIM; c += WG_SIZE) {
        var key = params.k_scale * k[(row - back) * params.k_stride + params.k_at + of_head + c];
        if KEYS_WEIGHTED {
            key *= key_weight[c];
        }
        var query = q[row * params.q_stride + params.q_at + of_head + c];
        if WEIGHTED {
            query *= weight[c];
        }
        // mutant: key + far[back * => key + far[0u *
        sum += query * (key + far[back * params.far_stride + of_head + c]);
    }
    return soft_cap(params.scale * workgroup_sum(sum, lane), params.soft_cap);
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = group.y;
    let of_head = group.x * HEAD_DIM;
    // mutant: min(SPAN, row + 1u) => min(SPAN, row)
    let count = min(SPAN, row + 1u);
    var shares: array<f32, MAX_SPAN>;
    var most = score(row, of_head, 0u, lane);
    shares[0] = most;
    for (var back = 1u; back < count; back++) {
        shares[back] = score(row, of_head, back, lane);
        most = max(most, shares[back]);
    }
    var total = 0.0;
    for (var back = 0u; back < count; back++) {
        shares[back] = exp(shares[back] - most);
        total += shares[back];
    }
    for (var c = lane; c < HEAD_DIM; c += WG_SIZE) {
        var sum = 0.0;
        for (var back = 0u; back < count; back++) {
            // mutant: (row - back) * params.v_stride => row * params.v_stride
            sum += shares[back] * v[(row - back) * params.v_stride + params.v_at + of_head + c];
        }
        y[row * groups.x * HEAD_DIM + of_head + c] = sum / total;
    }
}
