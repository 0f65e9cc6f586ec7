// What `attention_batch_tiled` computes, on subgroup matrices of f16: y[i] = Σ_j softmax_j(q[i]·k[j] * SCALE) v[j] over
// rows j of the same input as row i, with q, k, v and the weights in f16 and all sums in f32.
//
// The 64 rows of a workgroup may be of several inputs.

#import pass

override HEAD_DIM: u32;         // a multiple of 8, at most 128
override HEADS: u32;
override GROUP: u32;            // query heads per kv head
override SCALE: f32;
const SOFT_CAP = 0.0;

struct Params {
    elements: u32, // of eight values of a head
    stride: u32,   // elements of eight values from a row of qkv to the next
    k_at: u32,     // element of a row where its keys start
    v_at: u32,
    causal: u32,
    window: u32,   // 0: no window
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> inputs: array<vec2<u32>>; // of each sequence: first row, one past the last
@group(0) @binding(3) var<storage, read> q: array<vec4<f32>>;      // [rows, stride]
@group(0) @binding(4) var<storage, read> k: array<vec4<f32>>;      // the same buffer
@group(0) @binding(5) var<storage, read> v: array<vec4<f32>>;      // the same buffer
@group(0) @binding(6) var<storage, read_write> y: array<vec4<f32>>; // [rows, HEADS, HEAD_DIM]

#import eight
#import rows_of_eight
#import halves
#import lowest
#import soft_cap
#import rows_seen
#import subgroup_matrix_of_heads
#import weights_of_scores
#import walk_matrices

fn q_row_of(block: Block, row: u32) -> u32 {
    return 2u * (row * params.stride + block.head * ELEMENTS);
}

// Element where the row of a key begins. Behind the last key, where all weights are 0, it is the last one's.
fn k_row_of(block: Block, key: u32) -> u32 {
    return block.k_at + min(key, block.end - 1u) * params.stride;
}

fn v_row_of(block: Block, key: u32) -> u32 {
    return block.v_at + min(key, block.end - 1u) * params.stride;
}

fn seen_by(block: Block, row: u32) -> vec2<u32> {
    return seen(min(block.first + row, this_pass.rows - 1u));
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let first = id.y * ROWS;
    if first >= this_pass.rows {
        return;
    }
    // mutant: (id.x / GROUP) => (id.x % GROUP)
    let head = (id.x / GROUP) * ELEMENTS;
    // mutant: min(first + ROWS, this_pass.rows) - 1u => first
    let end = seen(min(first + ROWS, this_pass.rows) - 1u).y;
    let block = Block(id.x, first, params.k_at + head, params.v_at + head, first, seen(first).x, end);
    attend(block, LOWEST, 0.0, thread);
}
