// y = softmax(q·kᵀ·SCALE + causal mask)·v for many rows, on subgroup matrices of f16 (flash attention, Dao et al. 2022,
// arXiv 2205.14135): what `attention_tiled` computes, with q, k, v and the weights in f16 and all sums in f32.
//
// The 64 rows of a workgroup are tokens of one sequence at consecutive positions.

#import pass

override HEAD_DIM: u32;         // a multiple of 8, at most 128
override HEADS: u32;
override GROUP: u32;            // query heads per kv head
override CAPACITY: u32;         // positions in the cache of a sequence
override RING: bool;            // position p lies at p % CAPACITY; WINDOW and the rows of a pass fit together
override SCALE: f32;
override WINDOW: u32 = 0;       // a query attends to the last WINDOW keys; 0: to all
override SOFT_CAP: f32 = 0;     // scores become SOFT_CAP * tanh(score / SOFT_CAP); 0: no cap
override SINKS: bool;           // each softmax has one more score, its head's sink, without a value

struct Params {
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> q: array<vec4<f32>>;       // [rows, HEADS, HEAD_DIM]
@group(0) @binding(3) var<storage, read> k_cache: array<CacheElement>; // [sequences, kv_heads, CAPACITY, ROW]
@group(0) @binding(4) var<storage, read> v_cache: array<CacheElement>; // the same
@group(0) @binding(5) var<storage, read> sinks: array<f32>;         // [HEADS]
@group(0) @binding(6) var<storage, read_write> y: array<vec4<f32>>; // [rows, HEADS, HEAD_DIM]

#import eight
#import cache
#import halves
#import lowest
#import soft_cap
#import subgroup_matrix_of_heads
#import weights_of_scores
#import walk_matrices

fn q_row_of(block: Block, row: u32) -> u32 {
    return (row * HEADS + block.head) * 2u * ELEMENTS;
}

// Element of a cache where the row of a key begins. Behind the last key, where all weights are 0, it is the last one's.
fn k_row_of(block: Block, key: u32) -> u32 {
    // mutant: min(key, block.end - 1u) => key
    let position = min(key, block.end - 1u);
    // mutant: position % CAPACITY, RING => position, RING
    return block.k_at + select(position, position % CAPACITY, RING) * ROW;
}

fn v_row_of(block: Block, key: u32) -> u32 {
    return k_row_of(block, key);
}

// First key that a row of the workgroup sees, and one past the last.
fn seen_by(block: Block, row: u32) -> vec2<u32> {
    // mutant: block.before + row + 1u; => block.before + row;
    let end = block.before + row + 1u;
    // mutant: end - min(end, WINDOW) => end - min(end, WINDOW - 1u)
    return vec2<u32>(select(0u, end - min(end, WINDOW), WINDOW != 0u), end);
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    // The last rows see the most keys: they begin first.
    let first = ((this_pass.rows + ROWS - 1u) / ROWS - 1u - id.y) * ROWS;
    let row = this_pass.row[first];
    // mutant: id.x / GROUP) => id.x % GROUP)
    // mutant: row.sequence * => 0u *
    let cache = (row.sequence * (HEADS / GROUP) + id.x / GROUP) * CAPACITY * ROW;
    let before = row.position;
    let begin = select(0u, before + 1u - min(before + 1u, WINDOW), WINDOW != 0u);
    let end = before + min(ROWS, this_pass.rows - first);
    // mutant: sinks[id.x] * => sinks[0] *
    let high = select(LOWEST, sinks[id.x] * LOG2_E, SINKS);
    // One of the two threads of a row counts the sink.
    // mutant: SINKS && thread % 2u == 0u => SINKS
    let total = select(0.0, 1.0, SINKS && thread % 2u == 0u);
    attend(Block(id.x, first, cache, cache, before, begin, end), high, total, thread);
}
