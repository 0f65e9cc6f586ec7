// In place, for one row and one head of q or k per workgroup: an optional RMS norm over the head, then rotation of
// pairs (RoPE, Su et al. 2021, arXiv 2104.09864) by the row's position. What `rope_kv` does for models with a cache.

#import pass

override WG_SIZE: u32 = 64;
override HEADS: u32;
override KV_HEADS: u32;
override HEAD_DIM: u32;       // even
override ROPE_DIMS: u32;      // even, at most HEAD_DIM: the rest passes through
override SPLIT_HALF: bool;    // pairs (i, i + ROPE_DIMS/2) rather than (2i, 2i + 1)
override QK_NORM: bool;
override EPS: f32;
override MAGNITUDE: f32;      // rotated pairs are multiplied by it

struct Params {
    unused: u32,
}

#import reduce
#import rotation

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> frequencies: array<vec2<u32>>;// [ROPE_DIMS/2]: turns, high and low 32 bits
@group(0) @binding(3) var<storage, read> q_norm: array<f32>;           // [HEAD_DIM], unused without QK_NORM
@group(0) @binding(4) var<storage, read> k_norm: array<f32>;           // [HEAD_DIM]
@group(0) @binding(5) var<storage, read_write> qkv: array<f32>;        // [rows, HEADS + 2*KV_HEADS, HEAD_DIM]

var<workgroup> head_row: array<f32, HEAD_DIM>;

fn normalise(is_k: bool, lane: u32) {
    var squares = 0.0;
    for (var i = lane; i < HEAD_DIM; i += WG_SIZE) {
        squares += head_row[i] * head_row[i];
    }
    // mutant: f32(HEAD_DIM) + EPS => f32(HEAD_DIM)
    let scale = inverseSqrt(workgroup_sum(squares, lane) / f32(HEAD_DIM) + EPS);
    for (var i = lane; i < HEAD_DIM; i += WG_SIZE) {
        head_row[i] *= scale * select(q_norm[i], k_norm[i], is_k);
    }
    workgroupBarrier();
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let head = group.x;
    let start = (group.y * (HEADS + 2u * KV_HEADS) + head) * HEAD_DIM;
    for (var i = lane; i < HEAD_DIM; i += WG_SIZE) {
        head_row[i] = qkv[start + i];
    }
    workgroupBarrier();
    if QK_NORM {
        // mutant: normalise(head >= HEADS, lane) => normalise(head > HEADS, lane)
        normalise(head >= HEADS, lane);
    }
    for (var i = lane; i < HEAD_DIM; i += WG_SIZE) {
        if i >= ROPE_DIMS {
            qkv[start + i] = head_row[i];
        } else if i < ROPE_DIMS / 2u {
            let a = select(2u * i, i, SPLIT_HALF);
            // mutant: i + ROPE_DIMS / 2u => i + HEAD_DIM / 2u
            let b = select(2u * i + 1u, i + ROPE_DIMS / 2u, SPLIT_HALF);
            // mutant: this_pass.row[group.y].position => group.y
            // mutant: * MAGNITUDE =>
            let turn = rotation(this_pass.row[group.y].position, frequencies[i]) * MAGNITUDE;
            qkv[start + a] = head_row[a] * turn.y - head_row[b] * turn.x;
            qkv[start + b] = head_row[a] * turn.x + head_row[b] * turn.y;
        }
    }
}
