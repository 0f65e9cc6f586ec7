// (y[a], y[b]) = (x[a] cos - x[b] sin, x[a] sin + x[b] cos) for each pair i of a head, at its token's position;
// values past the pairs are copied. (a, b) is (2i, 2i + 1), or (i, i + pairs) with SPLIT_HALF.
// A head of one token is a row; neighbouring tokens are `stride` rows apart: 1 in [batch, head, token, dim], the number
// of heads in [batch, token, head, dim]. One thread computes one pair, or copies one value past them.

override WG_SIZE: u32 = 64;
override SPLIT_HALF: bool;

struct Params {
    rows: u32,     // batch * heads * tokens
    head_dim: u32, // values per row
    pairs: u32,    // at most head_dim / 2
    tokens: u32,
    stride: u32,   // rows from a token to the next
    position: u32, // of token 0
    factor: f32,   // what cos and sin are multiplied by, where they are computed
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;            // [rows, head_dim]
@group(0) @binding(2) var<storage, read> turns: array<turn_elem>;  // [pairs], or [positions, pairs]
@group(0) @binding(3) var<storage, read_write> y: array<f32>;      // [rows, head_dim]

#import rotations

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let slots = params.head_dim - params.pairs;
    // mutant: (group.y * groups.x + group.x) => group.x
    let index = (group.y * groups.x + group.x) * WG_SIZE + lane;
    let row = index / slots;
    let i = index % slots;
    if row >= params.rows {
        return;
    }
    let start = row * params.head_dim;
    if i >= params.pairs {
        // mutant: start + params.pairs + i => start + i
        let at = start + params.pairs + i;
        y[at] = x[at];
        return;
    }
    // mutant: (row / params.stride) % params.tokens => row % params.tokens
    let token = (row / params.stride) % params.tokens;
    // mutant: params.position + token => token
    let turn = rotation_of(params.position + token, i);
    let a = start + select(2u * i, i, SPLIT_HALF);
    // mutant: i + params.pairs, SPLIT_HALF => i + params.head_dim / 2u, SPLIT_HALF
    let b = start + select(2u * i + 1u, i + params.pairs, SPLIT_HALF);
    y[a] = x[a] * turn.x - x[b] * turn.y;
    y[b] = x[a] * turn.y + x[b] * turn.x;
}
