// y[i] = Σ_j softmax_j(scale · Σ_c ((q[i, c] + u[c]) k[j, c] + (q[i, c] + w[c]) far[i - j, c])) v[j] over all rows j of
// the pass: attention with an embedding of the distance in both directions (Transformer-XL, Dai et al. 2019, arXiv
// 1901.02860, 3.3), as in Conformers (Gulati et al. 2020, arXiv 2005.08100).
// One workgroup computes one head of one row, WG_SIZE keys at a time.

override WG_SIZE: u32 = 64;
override HEAD_DIM: u32;

struct Params {
    scale: f32,
    q_stride: u32,   // values from one row to the next
    q_at: u32,       // value of a row where it starts
    k_stride: u32,
    k_at: u32,
    v_stride: u32,
    v_at: u32,
    far_stride: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> q: array<f32>;          // [rows, heads, HEAD_DIM]
@group(0) @binding(2) var<storage, read> k: array<f32>;          // the same
@group(0) @binding(3) var<storage, read> v: array<f32>;          // the same
@group(0) @binding(4) var<storage, read> far: array<f32>;        // the same: row d is far[d]
@group(0) @binding(5) var<storage, read> ahead: array<f32>;      // the same: row d is far[-d]
@group(0) @binding(6) var<storage, read> key_bias: array<f32>;   // [heads, HEAD_DIM]: u
@group(0) @binding(7) var<storage, read> far_bias: array<f32>;   // the same: w
@group(0) @binding(8) var<storage, read_write> y: array<f32>;    // [rows, heads, HEAD_DIM]

var<workgroup> for_keys: array<f32, HEAD_DIM>;      // q + u
var<workgroup> for_distances: array<f32, HEAD_DIM>; // q + w
var<workgroup> sums: array<f32, HEAD_DIM>;
var<workgroup> shares: array<f32, WG_SIZE>;         // scores of some keys, then their exponentials

const LEAST: f32 = -3.0e38;

fn prepare(row: u32, of_head: u32, lane: u32) {
    for (var c = lane; c < HEAD_DIM; c += WG_SIZE) {
        let query = q[row * params.q_stride + params.q_at + of_head + c];
        for_keys[c] = query + key_bias[of_head + c];
        // mutant: query + far_bias[of_head + c] => query + far_bias[c]
        for_distances[c] = query + far_bias[of_head + c];
        sums[c] = 0.0;
    }
}

fn score(row: u32, key: u32, of_head: u32) -> f32 {
    let at = key * params.k_stride + params.k_at + of_head;
    var sum = 0.0;
    for (var c = 0u; c < HEAD_DIM; c++) {
        sum += for_keys[c] * k[at + c];
    }
    // mutant: if key > row => if false
    if key > row {
        let of_distance = (key - row) * params.far_stride + of_head;
        for (var c = 0u; c < HEAD_DIM; c++) {
            sum += for_distances[c] * ahead[of_distance + c];
        }
    } else {
        let of_distance = (row - key) * params.far_stride + of_head;
        for (var c = 0u; c < HEAD_DIM; c++) {
            sum += for_distances[c] * far[of_distance + c];
        }
    }
    return params.scale * sum;
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = group.y;
    let rows = groups.y;
    let of_head = group.x * HEAD_DIM;
    prepare(row, of_head, lane);
    workgroupBarrier();
    var most = LEAST;
    var total = 0.0;
    for (var first = 0u; first < rows; first += WG_SIZE) {
        let count = min(WG_SIZE, rows - first);
        var own = LEAST;
        if lane < count {
            own = score(row, first + lane, of_head);
        }
        shares[lane] = own;
        workgroupBarrier();
        var highest = most;
        for (var n = 0u; n < count; n++) {
            highest = max(highest, shares[n]);
        }
        // mutant: exp(most - highest) => 1.0
        let shrink = exp(most - highest);
        most = highest;
        workgroupBarrier();
        shares[lane] = exp(own - most);
        workgroupBarrier();
        // mutant: total *= shrink => total *= 1.0
        total *= shrink;
        for (var n = 0u; n < count; n++) {
            total += shares[n];
        }
        for (var c = lane; c < HEAD_DIM; c += WG_SIZE) {
            var sum = sums[c] * shrink;
            for (var n = 0u; n < count; n++) {
                sum += shares[n] * v[(first + n) * params.v_stride + params.v_at + of_head + c];
            }
            sums[c] = sum;
        }
        workgroupBarrier();
    }
    for (var c = lane; c < HEAD_DIM; c += WG_SIZE) {
        y[row * groups.x * HEAD_DIM + of_head + c] = sums[c] / total;
    }
}
