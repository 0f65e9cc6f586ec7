// Tiles of 64 rows and 64 keys, for attention whose n × n scores are never all stored. Rows are the queries of all
// heads that share keys, one head after the other; "head" means these, of all sequences.

const SIDE = 8u;    // threads along a tile, of 8 × 8 elements each
const THREADS = SIDE * SIDE;
const TILE = 8u * SIDE;
const HALF = 4u * SIDE; // of a tile: the second four of a thread's rows, and keys, begin so far behind the first
const QUADS = 2u * SIDE;
const DEPTH = 8u;   // steps of a sum in workgroup memory
const STRIDE = QUADS + 1u; // one more, so that threads that go down a column use different banks

override HEAD_DIM: u32; // a multiple of 16, at most 256
override VECS: u32 = HEAD_DIM / 4u;

struct Params {
    batch: u32,
    heads: u32,
    group: u32,      // query heads per kv head
    queries: u32,
    keys: u32,
    dim: u32,        // HEAD_DIM; loops over it are not unrolled, since the instructions would not fit their cache
    masked: u32,     // 1: there is a mask
    mask_batch: u32, // elements of the mask from a sequence, a head, a query and a key to the next; 0 repeats
    mask_head: u32,
    mask_row: u32,
    mask_key: u32,
    causal: u32,
    window: u32,     // 0: no window
    scale: f32,
    soft_cap: f32,   // 0: none
    first_head: u32, // of what a dispatch of the gradient computes: heads, and rows of each
    head_count: u32,
    first_row: u32,  // a multiple of TILE
    row_count: u32,
    splits: u32,     // parts that the sums over keys are cut into
    adds: u32,       // 1: sums over rows are added to those of the rows before
}

#import real_f32
#import dense_8x8

fn rows_of_head() -> u32 {
    return params.group * params.queries;
}

fn tiles_in(count: u32) -> u32 {
    return (count + TILE - 1u) / TILE;
}

// First key that a query attends to, and one past the last.
fn seen(query: u32) -> vec2<u32> {
    let sum = query + 1u + params.keys;
    let end = select(params.keys, sum - min(sum, params.queries), params.causal != 0u);
    return vec2<u32>(select(0u, end - min(end, params.window), params.window != 0u), end);
}

// The same of the rows of a tile.
fn seen_by_tile(row: u32) -> vec2<u32> {
    let last = min(row + TILE, rows_of_head()) - 1u;
    // mutant (compute/attention_forward): row / params.queries != last / params.queries => row == last
    if row / params.queries != last / params.queries {
        return vec2<u32>(0u, params.keys);
    }
    // mutant (compute/attention_forward): seen(last % params.queries).y => seen(row % params.queries).y
    return vec2<u32>(seen(row % params.queries).x, seen(last % params.queries).y);
}

// Whether a row of the tile may attend to a key of the tile that starts at `key`.
fn is_tile_seen(row: u32, key: u32) -> bool {
    let keys = seen_by_tile(row);
    // mutant (compute/attention_grad): keys.y > key => true
    // mutant (compute/attention_grad): keys.x < key + TILE => true
    return keys.x < key + TILE && keys.y > key;
}
