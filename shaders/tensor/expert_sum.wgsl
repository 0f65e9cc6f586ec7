// y[t, j] = Σ_s weights[t, s] · z[t, s, j]                            over the choices s whose id is an expert
// One workgroup computes WG_SIZE elements of y.

override WG_SIZE: u32;

struct Params {
    tokens: u32,
    top: u32,     // experts chosen per token
    n: u32,       // columns
    experts: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> ids: array<u32>;     // [tokens, top]
@group(0) @binding(2) var<storage, read> weights: array<f32>; // [tokens, top]
@group(0) @binding(3) var<storage, read> z: array<f32>;       // [tokens, top, n]
@group(0) @binding(4) var<storage, read_write> y: array<f32>; // [tokens, n]

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: (group.y * groups.x + group.x) => group.x
    let i = (group.y * groups.x + group.x) * WG_SIZE + lane;
    // mutant: i >= params.tokens * params.n => i > params.tokens * params.n
    if i >= params.tokens * params.n {
        return;
    }
    // mutant: i / params.n * params.top => i / params.n
    let first = i / params.n * params.top;
    var sum = 0.0;
    for (var s = first; s < first + params.top; s += 1u) {
        // mutant: if ids[s] < params.experts { => if ids[s] <= params.experts {
        if ids[s] < params.experts {
            sum += weights[s] * z[s * params.n + i % params.n];
        }
    }
    y[i] = sum;
}
