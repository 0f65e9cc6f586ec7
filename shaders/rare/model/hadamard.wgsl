// y = H (s ⊙ x), or with INVERSE y = s ⊙ H x: each run of BLOCK values of a row times a normalised Walsh–Hadamard
// matrix, H[r, c] = (-1)^popcount(r & c) / √BLOCK, and s the signs of the columns.
//
// A workgroup computes SPAN columns of a row, whole blocks, in workgroup memory: log2 BLOCK rounds of sums and
// differences of pairs. With TOKENS rows whose token has another id stay as they are.

override BLOCK: u32;    // a power of two
override SPAN: u32;     // a multiple of BLOCK
override WIDTH: u32;    // columns of this dispatch, whole blocks
override FIRST: u32;    // the first of them
override SCALE: f32;    // 1 / √BLOCK
override INVERSE: bool;
override IN_PLACE: bool; // x is y
override TOKENS: u32;    // ids of tokens, from 0 on; 0: all rows are rotated
override X_STRIDE: u32;
override X_AT: u32;
override Y_STRIDE: u32;
override Y_AT: u32;
override REPEATS: u32;  // x is [REPEATS, HEADS, HEAD], read as [HEADS, REPEATS, HEAD]; 1: in its order
override HEADS: u32;
override HEAD: u32;

const WG_SIZE = 128u;

struct Params {
    signs: array<vec4<u32>, 128>, // a bit for each column of this dispatch: set where its sign changes
}

#import pass

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> x: array<f32>;       // [rows, X_STRIDE]
@group(0) @binding(3) var<storage, read_write> y: array<f32>; // [rows, Y_STRIDE]

var<workgroup> values: array<f32, SPAN>;

fn load(row: u32, col: u32) -> f32 {
    var at = FIRST + col;
    if REPEATS > 1u {
        let head = at / (HEAD * REPEATS);
        let repeat = (at / HEAD) % REPEATS;
        at = (repeat * HEADS + head) * HEAD + at % HEAD;
    }
    if IN_PLACE {
        return y[row * Y_STRIDE + Y_AT + at];
    }
    return x[row * X_STRIDE + X_AT + at];
}

fn with_sign(col: u32, value: f32) -> f32 {
    let word = params.signs[col / 128u][(col / 32u) & 3u];
    // mutant: word >> (col & 31u) => word >> (col & 15u)
    return select(value, -value, ((word >> (col & 31u)) & 1u) == 1u);
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first = group.x * SPAN;
    let count = min(SPAN, WIDTH - first);
    for (var i = lane; i < count; i += WG_SIZE) {
        let value = load(group.y, first + i);
        values[i] = select(with_sign(first + i, value), value, INVERSE);
    }
    for (var gap = 1u; gap < BLOCK; gap *= 2u) {
        workgroupBarrier();
        for (var i = lane; i < count / 2u; i += WG_SIZE) {
            let at = 2u * gap * (i / gap) + i % gap;
            let low = values[at];
            let high = values[at + gap];
            values[at] = low + high;
            values[at + gap] = low - high;
        }
    }
    workgroupBarrier();
    if TOKENS > 0u && this_pass.row[group.y].token >= TOKENS {
        return;
    }
    for (var i = lane; i < count; i += WG_SIZE) {
        let value = values[i] * SCALE;
        // mutant: FIRST + first + i => first + i
        let at = group.y * Y_STRIDE + Y_AT + FIRST + first + i;
        y[at] = select(value, with_sign(first + i, value), INVERSE);
    }
}
