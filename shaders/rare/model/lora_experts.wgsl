// y[entry, o] = bias[e, o] + Σ_r B[e, o, r] t[r] with t[r] = scale of the row · Σ_i A[e, r, i] x[i]: what an adapter
// adds to products with the matrices of experts (Hu et al. 2021, arXiv 2106.09685), together with their biases.
// mat_vec_experts and mat_mul_experts take y for biases of entries. An entry is a choice of a token: number
// t · TOP + s, of expert e.
// One workgroup computes up to 4 · WG_SIZE values of an entry. t is computed for WG_SIZE / LANES ranks at a time, by
// LANES threads each. A row whose sequence has not the adapter at work takes the biases alone.

override WG_SIZE: u32;
override SLOTS: u32;      // adapters that a sequence has scales for
override EXPERTS: u32;
override TOP: u32;        // experts of a token
override SHARE: u32;      // entries that share a row of x
override BIAS: bool;      // [EXPERTS, outputs], from bias_at on
override ADD: bool;       // add to y, in the place of biases
override LANES: u32;      // threads that add up one value of t

override RANKS: u32 = WG_SIZE / LANES;

struct Params {
    slot: u32,
    cols: u32,    // values of a row of x
    x_stride: u32,
    outputs: u32, // of an expert
    first: u32,   // ranks of the matrices that stand before A
    rank: u32,    // 0: the adapter leaves these products as they are
    at: u32,      // value of b where B begins
    b_rows: u32,  // rows of B from one expert to the next
    bias_at: u32,
}

#import pass
#import lane_sums

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> scales: array<vec2<u32>>; // [sequences, SLOTS]: bits of f32, first position
@group(0) @binding(3) var<storage, read> routes: array<u32>;       // [tokens, 2 · TOP]: ids, then weights
@group(0) @binding(4) var<storage, read> a: array<f32>;            // [EXPERTS, rank, cols] of several, in a row
@group(0) @binding(5) var<storage, read> b: array<f32>;            // [EXPERTS, b_rows, rank] of each
@group(0) @binding(6) var<storage, read> x: array<f32>;            // [entries / SHARE, x_stride]
@group(0) @binding(7) var<storage, read> bias: array<f32>;
@group(0) @binding(8) var<storage, read_write> y: array<f32>;      // [entries, outputs]


@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let entry = group.y;
    let row = this_pass.row[entry / TOP];
    // mutant: row.sequence * SLOTS => 0u
    let own = scales[row.sequence * SLOTS + params.slot];
    // mutant: row.position >= own.y => row.position > own.y
    let scale = select(0.0, bitcast<f32>(own.x), row.position >= own.y);
    // mutant: entry / TOP * 2u * TOP + entry % TOP => entry
    let expert = routes[entry / TOP * 2u * TOP + entry % TOP];
    // mutant: params.first * EXPERTS => 0u
    let a_row = params.first * EXPERTS + expert * params.rank;
    // mutant: entry / SHARE => entry
    let x_row = entry / SHARE * params.x_stride;
    let first = 4u * group.x * WG_SIZE + lane;
    var found = vec4<f32>();
    let part = lane % LANES;
    // mutant: r += RANKS => r += 2u * RANKS
    for (var r = 0u; r < select(0u, params.rank, scale != 0.0); r += RANKS) {
        let own_rank = r + lane / LANES;
        var sum = 0.0;
        if own_rank < params.rank {
            for (var i = part; i < params.cols; i += LANES) {
                sum += a[(a_row + own_rank) * params.cols + i] * x[x_row + i];
            }
        }
        sum_lanes(sum, lane);
        for (var k = 0u; k < min(RANKS, params.rank - r); k += 1u) {
            let t = sums[k * LANES];
            for (var j = 0u; j < 4u; j += 1u) {
                // Values past the last repeat it.
                let o = min(first + j * WG_SIZE, params.outputs - 1u);
                // mutant: expert * params.b_rows + o => o
                // mutant: params.at + => 0u +
                found[j] += t * b[params.at + (expert * params.b_rows + o) * params.rank + r + k];
            }
        }
        workgroupBarrier();
    }
    for (var j = 0u; j < 4u; j += 1u) {
        let o = first + j * WG_SIZE;
        // mutant: o < params.outputs => o <= params.outputs
        if o < params.outputs {
            let at = entry * params.outputs + o;
            var value = scale * found[j];
            if ADD {
                value += y[at];
            } else if BIAS {
                // mutant: params.bias_at + => 0u +
                value += bias[params.bias_at + expert * params.outputs + o];
            }
            y[at] = value;
        }
    }
}
