// y[i] = Σ_j softmax_j(scale · Σ_c q[i, c] (k[j, c] + far[i - j, c])) v[j] over the block of rows j that row i sees:
// attention with an embedding of the distance in keys (Shaw et al. 2018, arXiv 1803.02155), or without. Row i belongs
// to block i / queries, which sees the rows from `keys` times that on. These are rows of the pass; or with `filled` the
// rows below spans[1], and past them stand the key far[0] of each head, in place of distances, and the value fill.
// One workgroup computes one head of one row, WG_SIZE keys at a time.

override WG_SIZE: u32 = 64;
override HEAD_DIM: u32;

struct Params {
    scale: f32,
    group: u32,    // heads that share a key and a value
    queries: u32,
    keys: u32,
    farthest: u32, // 0: no embedding of distances
    filled: u32,
    q_stride: u32, // values from one row to the next
    q_at: u32,     // value of a row where it starts
    k_stride: u32,
    k_at: u32,
    v_stride: u32,
    v_at: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> q: array<f32>;          // [rows, heads, HEAD_DIM]
@group(0) @binding(2) var<storage, read> k: array<f32>;          // [rows, heads / group, HEAD_DIM]
@group(0) @binding(3) var<storage, read> v: array<f32>;          // the same
@group(0) @binding(4) var<storage, read> spans: array<u32>;      // the first row that is seen, and one past the last
@group(0) @binding(5) var<storage, read> far: array<f32>;        // [2 · farthest + 1, HEAD_DIM] or [heads, HEAD_DIM]
@group(0) @binding(6) var<storage, read> fill: array<f32>;       // [heads, HEAD_DIM]
@group(0) @binding(7) var<storage, read_write> y: array<f32>;    // [rows, heads, HEAD_DIM]

var<workgroup> query: array<f32, HEAD_DIM>;
var<workgroup> sums: array<f32, HEAD_DIM>;
var<workgroup> shares: array<f32, WG_SIZE>; // scores of some keys, then their exponentials

const LEAST: f32 = -3.0e38;

// Where the key and the value of a head begin.
fn keys_of(of_head: u32) -> u32 {
    // mutant: of_head / HEAD_DIM / params.group => of_head / HEAD_DIM
    return of_head / HEAD_DIM / params.group * HEAD_DIM;
}

// The key `key` of the block from row `first` on.
fn score(row: u32, first: u32, key: u32, limit: u32, of_head: u32) -> f32 {
    var sum = 0.0;
    // mutant: first + key < limit => true
    if first + key < limit {
        let at = (first + key) * params.k_stride + params.k_at + keys_of(of_head);
        for (var c = 0u; c < HEAD_DIM; c++) {
            sum += query[c] * k[at + c];
        }
    } else {
        for (var c = 0u; c < HEAD_DIM; c++) {
            // mutant: far[of_head + c] => far[c]
            sum += query[c] * far[of_head + c];
        }
    }
    if params.farthest > 0u {
        // mutant: row % params.queries => row
        let at = (row % params.queries + params.farthest - key) * HEAD_DIM;
        for (var c = 0u; c < HEAD_DIM; c++) {
            sum += query[c] * far[at + c];
        }
    }
    return params.scale * sum;
}

fn value(row: u32, limit: u32, of_head: u32, c: u32) -> f32 {
    if row < limit {
        return v[row * params.v_stride + params.v_at + keys_of(of_head) + c];
    }
    return fill[of_head + c];
}

// Where the block begins that a row sees, how many rows it has, and one past the last row that there is.
fn block_of(row: u32, rows: u32) -> vec3<u32> {
    let start = row / params.queries * params.keys;
    if params.filled != 0u {
        return vec3<u32>(start, params.keys, spans[1]);
    }
    // mutant: min(params.keys, rows - start) => params.keys
    return vec3<u32>(start, min(params.keys, rows - start), rows);
}

fn prepare(row: u32, of_head: u32, lane: u32) {
    for (var c = lane; c < HEAD_DIM; c += WG_SIZE) {
        query[c] = q[row * params.q_stride + params.q_at + of_head + c];
        sums[c] = 0.0;
    }
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let of_head = group.x * HEAD_DIM;
    let block = block_of(group.y, groups.y);
    prepare(group.y, of_head, lane);
    workgroupBarrier();
    var most = LEAST;
    var total = 0.0;
    for (var first = 0u; first < block.y; first += WG_SIZE) {
        let count = min(WG_SIZE, block.y - first);
        var own = LEAST;
        if lane < count {
            own = score(group.y, block.x, first + lane, block.z, of_head);
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
                sum += shares[n] * value(block.x + first + n, block.z, of_head, c);
            }
            sums[c] = sum;
        }
        workgroupBarrier();
    }
    for (var c = lane; c < HEAD_DIM; c += WG_SIZE) {
        y[group.y * groups.x * HEAD_DIM + of_head + c] = sums[c] / total;
    }
}
