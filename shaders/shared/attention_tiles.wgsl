// Tiles of ROWS × COLUMNS scores, for attention whose n × n scores are never stored. A workgroup has ROWS rows (of
// queries, or of keys) and walks over the others in steps of COLUMNS. Thread `lane` has the rows 4 · (lane / 16) …+3 of
// a tile, and its columns lane % 16 and lane % 16 + 16.
//
// The kernel says what rows and columns are: `own_value` and `other_value` give four numbers of q or k (`scores`), or
// of what else is multiplied. HEAD_DIM is a multiple of 16.

const WG_SIZE = 256u;
const ROWS = 64u;
const COLUMNS = 32u;

override HEAD_DIM: u32;           // at most 256
override VECS: u32 = HEAD_DIM / 4u;
override PARTS: u32 = (VECS + 15u) / 16u; // of 64 columns of HEAD_DIM

struct Params {
    batch: u32,
    heads: u32,
    group: u32,      // query heads per kv head
    queries: u32,
    keys: u32,
    masked: u32,     // 1: there is a mask
    mask_batch: u32, // elements of the mask from a sequence, a head, a query and a key to the next; 0 repeats
    mask_head: u32,
    mask_row: u32,
    mask_key: u32,
    causal: u32,
    window: u32,     // 0: no window
    scale: f32,
    soft_cap: f32,   // 0: none
}

var<workgroup> stage: array<vec4<f32>, 512>; // what is multiplied
var<workgroup> tile: array<vec4<f32>, 512>;  // [COLUMNS, ROWS], four rows each

// Rows and columns of a tile: where they start, in fours of elements, and how many there are.
struct Place {
    at: u32,
    count: u32,
}

// own · otherᵀ: the thread's four rows of its two columns. Rows that are not there repeat the last.
fn products(scores: bool, own: Place, other: Place, lane: u32) -> array<vec4<f32>, 2> {
    var sums: array<vec4<f32>, 2>;
    let row = lane / 4u;
    let part = lane % 4u;
    for (var d = 0u; d < VECS; d += 4u) {
        workgroupBarrier();
        stage[part * ROWS + row] = own_value(scores, own.at + min(row, own.count - 1u) * VECS + d + part);
        if row < COLUMNS {
            let element = other.at + min(row, other.count - 1u) * VECS + d + part;
            stage[4u * ROWS + part * COLUMNS + row] = other_value(scores, element);
        }
        workgroupBarrier();
        for (var v = 0u; v < 4u; v++) {
            let at = v * ROWS + lane / 16u * 4u;
            let rows = mat4x4<f32>(stage[at], stage[at + 1u], stage[at + 2u], stage[at + 3u]);
            let column = 4u * ROWS + v * COLUMNS + lane % 16u;
            sums[0] += stage[column] * rows;
            // mutant (compute/attention_forward, compute/attention_grad): column + 16u => column
            sums[1] += stage[column + 16u] * rows;
        }
    }
    return sums;
}

// sums[4 j + i] += Σ_c tile[c, row i] · other[c, four columns of part j]
fn accumulate(scores: bool, other: Place, lane: u32, sums: ptr<function, array<vec4<f32>, 16>>) {
    for (var j = 0u; j < PARTS; j++) {
        workgroupBarrier();
        for (var i = lane; i < 16u * COLUMNS; i += WG_SIZE) {
            let column = min(16u * j + i % 16u, VECS - 1u);
            stage[i] = other_value(scores, other.at + min(i / 16u, other.count - 1u) * VECS + column);
        }
        workgroupBarrier();
        for (var c = 0u; c < COLUMNS; c++) {
            let weights = tile[c * 16u + lane / 16u];
            let value = stage[c * 16u + lane % 16u];
            // mutant (compute/attention_forward, compute/attention_grad): weights.x * value => weights.y * value
            (*sums)[4u * j] += weights.x * value;
            (*sums)[4u * j + 1u] += weights.y * value;
            (*sums)[4u * j + 2u] += weights.z * value;
            (*sums)[4u * j + 3u] += weights.w * value;
        }
    }
}

// Writes the thread's four rows of column j to the tile.
fn put(j: u32, rows: vec4<f32>, lane: u32) {
    tile[(lane % 16u + 16u * j) * 16u + lane / 16u] = rows;
}
