// t[r] = scale of the row · Σ_i a[r, i] x[i] norm_weight[i], the first half of what an adapter adds to products of the
// one row of a pass, or of the one that has logits (Hu et al. 2021, arXiv 2106.09685). The product adds the second half
// to its sums, which it multiplies by 1 / sqrt(mean x² + eps) where x has an RMS norm: so that factor is not here.
// One workgroup computes one value. A thread loads eight quads before it uses the first: so few threads run that the
// kernel would spend most of its time on loads that wait for each other.

override WG_SIZE: u32 = 256;
override SLOTS: u32;               // adapters that a sequence has scales for
override OF_OUTPUTS: bool = false; // x is the first row of the pass that has logits, not its first
override NORM: bool = false;       // x is multiplied by norm_weight

struct Params {
    slot: u32,
    quads: u32, // of a row of a, and of x
}

#import pass
#import reduce

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> scales: array<vec2<u32>>;      // [sequences, SLOTS]: f32 bits, first position
@group(0) @binding(3) var<storage, read> a: array<vec4<f32>>;           // [ranks, quads]
@group(0) @binding(4) var<storage, read> x: array<vec4<f32>>;           // [rows, quads]
@group(0) @binding(5) var<storage, read> norm_weight: array<vec4<f32>>; // [quads]
@group(0) @binding(6) var<storage, read_write> t: array<f32>;           // [ranks]

// Products of quad i of a row of a and of x, 0 past the last.
fn products(a_row: u32, x_row: u32, i: u32) -> vec4<f32> {
    let at = min(i, params.quads - 1u);
    var quad = a[a_row + at] * x[x_row + at];
    if NORM {
        quad *= norm_weight[at];
    }
    // mutant: i < params.quads => true
    return select(vec4<f32>(), quad, i < params.quads);
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    // mutant: this_pass.rows - this_pass.outputs => 0u
    let row = select(0u, this_pass.rows - this_pass.outputs, OF_OUTPUTS);
    let entry = this_pass.row[row];
    // mutant: entry.sequence * SLOTS => 0u
    let own = scales[entry.sequence * SLOTS + params.slot];
    // mutant: entry.position >= own.y => entry.position > own.y
    let scale = select(0.0, bitcast<f32>(own.x), entry.position >= own.y);
    var quad = vec4<f32>();
    let a_row = group.x * params.quads;
    let x_row = row * params.quads;
    for (var i = lane; i < params.quads; i += 8u * WG_SIZE) {
        let first = products(a_row, x_row, i) + products(a_row, x_row, i + WG_SIZE);
        let second = products(a_row, x_row, i + 2u * WG_SIZE) + products(a_row, x_row, i + 3u * WG_SIZE);
        let third = products(a_row, x_row, i + 4u * WG_SIZE) + products(a_row, x_row, i + 5u * WG_SIZE);
        // mutant: i + 7u * WG_SIZE => i + 6u * WG_SIZE
        let last = products(a_row, x_row, i + 6u * WG_SIZE) + products(a_row, x_row, i + 7u * WG_SIZE);
        quad += (first + second) + (third + last);
    }
    let total = workgroup_sum(dot(quad, vec4<f32>(1.0)), lane);
    if lane == 0u {
        // Where the adapter is not at work, infinities of x must not reach the product.
        t[group.x] = select(0.0, scale * total, scale != 0.0);
    }
}
