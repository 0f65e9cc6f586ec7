// y = softmax(q·kᵀ·SCALE + causal mask)·v for many rows (flash attention, Dao et al. 2022, arXiv 2205.14135): what
// `attention` computes, in tiles of 64 queries and 64 keys with 8 × 8 scores in the registers of a thread.
//
// The 64 rows of a workgroup are tokens of one sequence at consecutive positions.

#import pass

override HEAD_DIM: u32;         // a multiple of 8, at most 256
override PARTS: u32;            // GROUPS * COLUMN_PARTS, at least 2
override COLUMN_PARTS: u32;     // HEAD_DIM / 64, rounded up
override BUFFERS: u32;          // 2: tiles in workgroup memory are filled while others are read; 1: there is no room
override WG_SIZE: u32;          // 64 * PARTS
override HEADS: u32;
override GROUP: u32;            // query heads per kv head
override CAPACITY: u32;         // positions in the cache of a sequence
override RING: bool;            // position p lies at p % CAPACITY; WINDOW and the rows of a pass fit together
override SCALE: f32;
override WINDOW: u32 = 0;       // a query attends to the last WINDOW keys; 0: to all
override SOFT_CAP: f32 = 0;     // scores become SOFT_CAP * tanh(score / SOFT_CAP); 0: no cap
override SINKS: bool;           // each softmax has one more score, that of its head's sink, without a value

struct Params {
    elements: u32, // HEAD_DIM / 8: not a constant, since an unrolled loop over it would not fit the instruction cache
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
#import lowest
#import soft_cap
#import score_tiles
#import scores_causal
#import score_rows
#import walk_tiles

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

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first = id.y * TILE;
    let row = this_pass.row[first];
    // mutant: id.x / GROUP) => id.x % GROUP)
    // mutant: row.sequence * => 0u *
    let cache = (row.sequence * (HEADS / GROUP) + id.x / GROUP) * CAPACITY * ROW;
    let before = row.position;
    let begin = select(0u, before + 1u - min(before + 1u, WINDOW), WINDOW != 0u);
    // mutant: min(TILE, this_pass.rows - first) => TILE
    let end = before + min(TILE, this_pass.rows - first);
    // mutant: sinks[id.x] * => sinks[0] *
    let high = select(LOWEST, sinks[id.x] * LOG2_E, SINKS);
    // One of the threads that share rows counts the sink.
    let total = select(0.0, 1.0, SINKS && lane < THREADS && lane % SIDE == 0u);
    attend(Block(id.x, first, cache, cache, before, begin, end), high, total, lane);
}
