// y[i, j] = Σ_c x[i / share, c] · w[ids[i], j, c]                    each row by the matrix of its expert: few rows
//
// The topology where few entries share an expert: one workgroup computes GROUP columns of one entry, straight from its
// id, eight threads to a column: each takes four weights of every 32, and the sums are added up in workgroup memory.
// An entry whose id is no expert gets zeros.

override X_KIND: u32; // how x is stored: see stored.wgsl
override W_KIND: u32; // how w is stored, unless in blocks

override WG_SIZE: u32;
override GROUP: u32;                   // columns of a workgroup
override LANES: u32 = WG_SIZE / GROUP; // threads of a column: 8

struct Params {
    n: u32,       // columns of y
    k: u32,       // columns of x
    share: u32,   // entries that share a row of x
    experts: u32,
    entries: u32,
}

#import stored

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> ids: array<u32>;         // [entries]
@group(0) @binding(2) var<storage, read> x: array<u32>;           // [entries / share, k], words of elements
@group(0) @binding(3) var<storage, read> w_vec: array<vec4<u32>>; // [experts, n, k], in blocks or words of elements
@group(0) @binding(4) var<storage, read> w_word: array<u32>;      // the same buffer
@group(0) @binding(5) var<storage, read_write> y: array<f32>;     // [entries, n]

#import experts
#import expert_x

var<workgroup> sums: array<f32, WG_SIZE>;

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    // mutant: let index = group.y * groups.x + group.x; => let index = group.x;
    let index = group.y * groups.x + group.x;
    let tiles = (params.n + GROUP - 1u) / GROUP;
    let i = index / tiles;
    if i >= params.entries {
        return;
    }
    let expert = ids[i];
    let col = index % tiles * GROUP + thread / LANES;
    // Columns past the end repeat the last: their sums are never written.
    let weight_row = min(expert, params.experts - 1u) * params.n + min(col, params.n - 1u);
    var sum = 0.0;
    // mutant: c < params.k; c += 4u * LANES => c + 4u <= params.k; c += 4u * LANES
    for (var c = 4u * (thread % LANES); c < params.k; c += 4u * LANES) {
        // mutant: i / params.share => i
        sum += dot(weight_quad(weight_row, c), x_quad(i / params.share, c));
    }
    sums[thread] = sum;
    workgroupBarrier();
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        if thread % LANES < half {
            sums[thread] += sums[thread + half];
        }
        workgroupBarrier();
    }
    if thread % LANES == 0u && col < params.n {
        // mutant: select(0.0, sums[thread], expert < params.experts) => sums[thread]
        y[i * params.n + col] = select(0.0, sums[thread], expert < params.experts);
    }
}
