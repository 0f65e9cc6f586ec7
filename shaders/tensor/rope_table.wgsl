// table[p, i] = factor * (cos a, sin a), a = 2π * (first + p) * turns[i]       (RoPE, Su et al. 2021, arXiv 2104.09864)
// One workgroup computes WG_SIZE entries. Scaling of positions and frequencies, YaRN's included, is part of `turns`;
// YaRN's attention factor is `factor`.

override WG_SIZE: u32 = 64;

struct Params {
    positions: u32, // rows of the table
    pairs: u32,     // columns of the table
    first: u32,     // position of row 0
    factor: f32,    // what cos and sin are multiplied by
}

#import rotation

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> turns: array<vec2<u32>>;        // [pairs]: per position, 64-bit fixed point
@group(0) @binding(2) var<storage, read_write> table: array<vec2<f32>>;  // [positions, pairs]: cos, sin

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: (group.y * groups.x + group.x) => group.x
    let i = (group.y * groups.x + group.x) * WG_SIZE + lane;
    if i < params.positions * params.pairs {
        // mutant: params.first + i / params.pairs => i / params.pairs
        let turn = rotation(params.first + i / params.pairs, turns[i % params.pairs]);
        // mutant: * params.factor =>
        table[i] = turn.yx * params.factor;
    }
}
