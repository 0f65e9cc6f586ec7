// y[i] = Σ_j softmax_j(scale · q[i]·k[j] + q[i]·(down[y_i - y_j] + across[x_i - x_j])) v[j] over all cells j of a
// square grid, or of a window (SAM, Kirillov et al. 2023, arXiv 2304.02643), which has fill_k and fill_v of each head
// outside of the grid. down and across begin with the farthest distance behind; in a grid of another size distances lie
// between rows. One workgroup computes one head of one cell, WG_SIZE keys at a time.

override WG_SIZE: u32 = 64;
override HEAD_DIM: u32;

struct Params {
    scale: f32,
    window: u32,   // cells along a side of a window; 0: all cells are seen
    places: u32,   // rows of down and of across
    q_stride: u32, // values from one row to the next
    q_at: u32,     // value of a row where it starts
    k_stride: u32,
    k_at: u32,
    v_stride: u32,
    v_at: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> q: array<f32>;       // [cells, heads, HEAD_DIM]
@group(0) @binding(2) var<storage, read> k: array<f32>;       // the same
@group(0) @binding(3) var<storage, read> v: array<f32>;       // the same
@group(0) @binding(4) var<storage, read> down: array<f32>;    // [places, HEAD_DIM]
@group(0) @binding(5) var<storage, read> across: array<f32>;  // the same
@group(0) @binding(6) var<storage, read> fill_k: array<f32>;  // [heads, HEAD_DIM]
@group(0) @binding(7) var<storage, read> fill_v: array<f32>;  // the same
@group(0) @binding(8) var<storage, read_write> y: array<f32>; // [cells, heads, HEAD_DIM]

const LEAST: f32 = -3.0e38;
const MAX_SIDE: u32 = 128u;

var<workgroup> query: array<f32, HEAD_DIM>;
var<workgroup> sums: array<f32, HEAD_DIM>;
var<workgroup> shares: array<f32, WG_SIZE>; // scores of some keys, then their exponentials
var<workgroup> below: array<f32, MAX_SIDE>; // the query times down, for each line that it sees
var<workgroup> beside: array<f32, MAX_SIDE>;

// The rows of a table beside a distance, of count lines, and the share of the second one.
fn between(distance: u32, count: u32) -> vec3<f32> {
    let all = f32(2u * count - 1u);
    // mutant: - 0.5 => - 0.0
    let at = max((f32(distance) + 0.5) / (all / f32(params.places)) - 0.5, 0.0);
    let first = min(floor(at), f32(params.places - 1u));
    return vec3<f32>(first, min(first + 1.0, f32(params.places - 1u)), at - first);
}

// What a cell sees, `seen`: the first column and line, count of each, the grid's side.
fn prepare(row: u32, own: vec2<u32>, seen: vec4<u32>, of_head: u32, lane: u32) {
    for (var c = lane; c < HEAD_DIM; c += WG_SIZE) {
        query[c] = q[row * params.q_stride + params.q_at + of_head + c];
        sums[c] = 0.0;
    }
    workgroupBarrier();
    for (var n = lane; n < seen.z; n += WG_SIZE) {
        // mutant: own - seen.xy => own
        let apart = own - seen.xy + vec2<u32>(seen.z - 1u - n);
        let x = between(apart.x, seen.z);
        let y = between(apart.y, seen.z);
        var sum = vec2<f32>(0.0);
        for (var c = 0u; c < HEAD_DIM; c++) {
            let column = mix(across[u32(x.x) * HEAD_DIM + c], across[u32(x.y) * HEAD_DIM + c], x.z);
            sum += query[c] * vec2<f32>(column, mix(down[u32(y.x) * HEAD_DIM + c], down[u32(y.y) * HEAD_DIM + c], y.z));
        }
        beside[n] = sum.x;
        below[n] = sum.y;
    }
    workgroupBarrier();
}

// 1 where a key is of a cell of the grid, and that cell.
fn cell_of(key: u32, seen: vec4<u32>) -> vec2<u32> {
    let at = seen.xy + vec2<u32>(key % seen.z, key / seen.z);
    // mutant: all(at < vec2<u32>(seen.w)) => true
    return vec2<u32>(select(0u, 1u, all(at < vec2<u32>(seen.w))), at.y * seen.w + at.x);
}

fn score(key: u32, seen: vec4<u32>, of_head: u32) -> f32 {
    let cell = cell_of(key, seen);
    var sum = 0.0;
    for (var c = of_head; c < of_head + HEAD_DIM; c++) {
        if cell.x != 0u {
            sum += query[c - of_head] * k[cell.y * params.k_stride + params.k_at + c];
        } else {
            // mutant: fill_k[c] => fill_k[c - of_head]
            sum += query[c - of_head] * fill_k[c];
        }
    }
    // mutant: below[key / seen.z] => below[key % seen.z]
    return params.scale * sum + beside[key % seen.z] + below[key / seen.z];
}

fn value(key: u32, seen: vec4<u32>, at: u32) -> f32 {
    let cell = cell_of(key, seen);
    if cell.x == 0u {
        return fill_v[at];
    }
    return v[cell.y * params.v_stride + params.v_at + at];
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let of_head = group.x * HEAD_DIM;
    let side = min(u32(sqrt(f32(groups.y)) + 0.001), MAX_SIDE);
    let own = vec2<u32>(group.y % side, group.y / side);
    var seen = vec4<u32>(0u, 0u, side, side);
    if params.window > 0u {
        seen = vec4<u32>(own / params.window * params.window, params.window, side);
    }
    prepare(group.y, own, seen, of_head, lane);
    var most = LEAST;
    var total = 0.0;
    for (var first = 0u; first < seen.z * seen.z; first += WG_SIZE) {
        let count = min(WG_SIZE, seen.z * seen.z - first);
        var one = LEAST;
        if lane < count {
            one = score(first + lane, seen, of_head);
        }
        shares[lane] = one;
        workgroupBarrier();
        var highest = most;
        for (var n = 0u; n < count; n++) {
            highest = max(highest, shares[n]);
        }
        let shrink = exp(most - highest);
        most = highest;
        workgroupBarrier();
        shares[lane] = exp(one - most);
        workgroupBarrier();
        total *= shrink;
        for (var n = 0u; n < count; n++) {
            total += shares[n];
        }
        for (var c = lane; c < HEAD_DIM; c += WG_SIZE) {
            var sum = sums[c] * shrink;
            for (var n = 0u; n < count; n++) {
                sum += shares[n] * value(first + n, seen, of_head + c);
            }
            sums[c] = sum;
        }
        workgroupBarrier();
    }
    for (var c = lane; c < HEAD_DIM; c += WG_SIZE) {
        y[group.y * groups.x * HEAD_DIM + of_head + c] = sums[c] / total;
    }
}
