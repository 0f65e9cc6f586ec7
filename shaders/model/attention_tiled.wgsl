// y = softmax(q·kᵀ·SCALE + causal mask)·v for many rows (flash attention, Dao et al. 2022, arXiv 2205.14135): what
// `attention` computes, in tiles of 64 queries and 64 keys with 8 × 8 scores in the registers of a thread.
//
// One workgroup computes 64 rows of one head, tokens of one sequence at consecutive positions, and walks the keys that
// any of them sees, PARTS tiles at a time, with a running maximum. The 64 threads of a part compute the scores of a
// tile, then sums for 64 columns of y over the keys of their group: the COLUMN_PARTS parts that have these columns'
// weights between them. There are GROUPS, each with keys of its own; their sums are joined at the end.

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
#import score_rows

override ELEMENTS: u32 = HEAD_DIM / 8;
const LOG2_E = 1.442695;

// What a workgroup computes.
struct Block {
    head: u32,
    first: u32,  // row of the pass
    cache: u32,  // element of the caches where the keys of its sequence and head begin
    before: u32, // keys before the first row's own
    end: u32,    // one past the last key that the last row sees
}

// Element of a cache where the row of a key begins. Behind the last key, where all weights are 0, it is the last one's.
fn row_of(block: Block, key: u32) -> u32 {
    // mutant: min(key, block.end - 1u) => key
    let position = min(key, block.end - 1u);
    // mutant: position % CAPACITY, RING => position, RING
    return block.cache + select(position, position % CAPACITY, RING) * ROW;
}

// Queries · keysᵀ, of a tile for each part; the first begins at `key`. A thread fetches eight values of a key, and of
// two parts four of a query, while the products of those before are added up.
fn products(block: Block, key: u32, lane: u32) -> Sums {
    let part = lane / THREADS;
    let own = lane % THREADS;
    let k_row = row_of(block, key + lane);
    // mutant: min(block.first + own, this_pass.rows - 1u) => block.first
    let q_row = (min(block.first + own, this_pass.rows - 1u) * HEADS + block.head) * 2u * ELEMENTS + part % 2u;
    let factor = select(SCALE * LOG2_E, SCALE, SOFT_CAP != 0.0);
    var eight = load_k(k_row, 0u);
    var four = q[q_row] * factor;
    var sums = Sums();
    workgroupBarrier();
    for (var i = 0u; i < params.elements; i++) {
        if BUFFERS == 1u {
            workgroupBarrier();
        }
        let buffer = i % BUFFERS;
        if part < 2u {
            stage_query(buffer * GROUPS, own, 4u * part, four);
        }
        stage_key(buffer * PARTS + part, own, unpack_eight(eight));
        workgroupBarrier();
        let next = min(i + 1u, params.elements - 1u);
        eight = load_k(k_row, next);
        four = q[q_row + 2u * next] * factor;
        multiply(&sums, buffer * GROUPS, buffer * PARTS + part, lane);
    }
    return sums;
}

// sums += weights · v, of the keys from `key` on. A slice are 8 keys of one part in each group, every fourth of half a
// tile: those of which a thread has the same of its eight weights.
fn accumulate(sums: ptr<function, Sums>, weights: ptr<function, Sums>, block: Block, key: u32, lane: u32) {
    let part = lane / THREADS;
    let group = part / COLUMN_PARTS;
    let step = lane % (THREADS * COLUMN_PARTS) / (SIDE * COLUMN_PARTS);
    let column = lane % (SIDE * COLUMN_PARTS); // an element of a value row
    let element = min(column, ELEMENTS - 1u);
    let first = key + group * COLUMN_PARTS * TILE + 4u * step;
    // Of the first group, which has the most keys that any row sees.
    let seen = min((block.end - key + HALF - 1u) / HALF, 2u * COLUMN_PARTS) * 4u;
    var eight = load_v(row_of(block, first), element);
    workgroupBarrier();
    for (var i = 0u; i < seen; i++) {
        if BUFFERS == 1u {
            workgroupBarrier();
        }
        let buffer = i % BUFFERS;
        if part % COLUMN_PARTS == i / SIDE {
            stage_weights(buffer * GROUPS + group, weights, i % SIDE, lane);
        }
        stage_values(buffer * PARTS + group * COLUMN_PARTS + column / SIDE, step, column % SIDE, unpack_eight(eight));
        workgroupBarrier();
        // mutant: (i + 1u) % 4u => i % 4u
        eight = load_v(row_of(block, first + (i + 1u) / 4u * HALF + (i + 1u) % 4u), element);
        multiply(sums, buffer * GROUPS + group, buffer * PARTS + part, lane);
    }
}

fn write(block: Block, row: u32, element: u32, low: vec4<f32>, high: vec4<f32>) {
    let to = block.first + row;
    // mutant: to < this_pass.rows && => to <= this_pass.rows &&
    if to < this_pass.rows && element < ELEMENTS {
        let at = (to * HEADS + block.head) * 2u * ELEMENTS + 2u * element;
        y[at] = low;
        y[at + 1u] = high;
    }
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first = id.y * TILE;
    let row = this_pass.row[first];
    // mutant: id.x / GROUP) => id.x % GROUP)
    // mutant: row.sequence * => 0u *
    let cache = (row.sequence * (HEADS / GROUP) + id.x / GROUP) * CAPACITY * ROW;
    // mutant: min(TILE, this_pass.rows - first) => TILE
    let end = row.position + min(TILE, this_pass.rows - first);
    let block = Block(id.x, first, cache, row.position, end);
    let part = lane / THREADS;
    let own = 4u * (lane % THREADS / SIDE);          // first row of the thread's
    let own_key = part * TILE + 4u * (lane % SIDE); // and key

    var sums = Sums();
    // mutant: sinks[id.x] * => sinks[0] *
    let high_0 = select(LOWEST, sinks[id.x] * LOG2_E, SINKS);
    // Of the threads that share rows, one counts the sink.
    let total_0 = select(0.0, 1.0, SINKS && part == 0u && lane % SIDE == 0u);
    var high = Rows(vec4<f32>(high_0), vec4<f32>(high_0));
    var total = Rows(vec4<f32>(total_0), vec4<f32>(total_0));
    let begin = select(0u, block.before + 1u - min(block.before + 1u, WINDOW), WINDOW != 0u);
    for (var key = begin; key < end; key += TILE * PARTS) {
        var weights = products(block, key, lane);
        all_scores(&weights, block.before + own, key + own_key, block.before);
        let highest = highest_of(&weights, high, lane);
        all_weights(&weights, highest);
        let factor = Rows(exp2(high.low - highest.low), exp2(high.far - highest.far));
        // mutant: factor); => Rows(vec4<f32>(1.0), vec4<f32>(1.0)));
        total = total_of(&weights, total, factor);
        high = highest;
        scale_rows(&sums, factor);
        accumulate(&sums, &weights, block, key, lane);
    }
    total = shared_total(total, lane);
    join_groups(&sums, lane);
    if part < COLUMN_PARTS {
        scale_rows(&sums, Rows(1.0 / total.low, 1.0 / total.far));
        write_all(&sums, block, own, part * SIDE + lane % SIDE);
    }
}
