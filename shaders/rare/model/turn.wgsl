// Turns pairs of each head of x in place, by angles of the row: value i of a head and value i + APART are a pair, and
// blocks of 2 · APART values follow each other (RoFormer, Su et al. 2021, arXiv 2104.09864; by row and column as in
// Qwen2-VL, arXiv 2409.12191). One workgroup turns WG_SIZE pairs of one row.

override WG_SIZE: u32 = 64;
override HEAD_DIM: u32;
override APART: u32;

struct Params {
    heads: u32,
    stride: u32, // values from a row of x to the next
    at: u32,     // value of a row where the heads start
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> turns: array<vec2<f32>>; // [rows, HEAD_DIM / 2]: cosine and sine
@group(0) @binding(2) var<storage, read_write> x: array<f32>;     // [rows, stride]

override PAIRS: u32 = HEAD_DIM / 2;

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let n = group.x * WG_SIZE + lane;
    // mutant: n >= params.heads * PAIRS => n > params.heads * PAIRS
    if n >= params.heads * PAIRS {
        return;
    }
    let pair = n % PAIRS;
    let of_head = group.y * params.stride + params.at + n / PAIRS * HEAD_DIM;
    // mutant: pair / APART * 2u * APART => pair / APART * APART
    let first = of_head + pair / APART * 2u * APART + pair % APART;
    let turn = turns[group.y * PAIRS + pair];
    let a = x[first];
    let b = x[first + APART];
    // mutant: a * turn.x - b * turn.y => a * turn.x + b * turn.y
    x[first] = a * turn.x - b * turn.y;
    x[first + APART] = a * turn.y + b * turn.x;
}
