// What `attention_batch` computes, for inputs of many rows: y[i] = Σ_j softmax_j(q[i]·k[j] * SCALE) v[j] over rows j of
// the same input as row i, in tiles of 64 queries and 64 keys with 8 × 8 scores in the registers of a thread.
//
// The 64 rows of a workgroup may be of several inputs.

#import pass

override HEAD_DIM: u32;         // a multiple of 8, at most 256
override PARTS: u32;            // GROUPS * COLUMN_PARTS, at least 2
override COLUMN_PARTS: u32;     // HEAD_DIM / 64, rounded up
override BUFFERS: u32;          // 2: tiles in workgroup memory are filled while others are read; 1: there is no room
override WG_SIZE: u32;          // 64 * PARTS
override HEADS: u32;
override GROUP: u32;            // query heads per kv head
override SCALE: f32;
const SOFT_CAP = 0.0;

struct Params {
    elements: u32, // HEAD_DIM / 8: not a constant, since an unrolled loop over it would not fit the instruction cache
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
#import lowest
#import rows_seen
#import score_tiles
#import walk_tiles
#import scores_of_inputs
#import score_rows

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

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first = id.y * TILE;
    if first >= this_pass.rows {
        return;
    }
    let of_first = seen(first);
    // mutant: min(first + TILE, this_pass.rows) - 1u => first
    let of_last = seen(min(first + TILE, this_pass.rows) - 1u);
    seen_by_all = vec2<u32>(of_last.x, of_first.y);
    // mutant: (id.x / GROUP) => (id.x % GROUP)
    let head = (id.x / GROUP) * ELEMENTS;
    let block = Block(id.x, first, params.k_at + head, params.v_at + head, first, of_first.x, of_last.y);
    attend(block, LOWEST, 0.0, lane);
}
