// What the two mat_vec kernels share: bindings, the dot products of one thread, and the epilogue.

override COLS: u32;      // columns of W, values of x
override ROWS: u32;      // rows of y that this dispatch computes; with SWIGLU W has twice as many
override SLOTS: u32;     // rows of W that a thread works on together: 1, 2, 4 or 8; even with SWIGLU
override WG_SIZE: u32;
override NORM: bool;     // RMS-normalise x on the way
override EPS: f32;
override BIAS: bool;
override RESIDUAL: bool; // add to y
override SWIGLU: bool;   // rows r and ROWS + r of W are gate and up of y[r]

override BLOCKS: u32 = (COLS + 31u) / 32u;               // blocks of a row
override OUTPUTS: u32 = select(SLOTS, SLOTS / 2u, SWIGLU); // rows of y from SLOTS rows of W

const MAX_SLOTS = 8u;

struct Params {
    first_row: u32,  // row of the whole matrix that row 0 of W is: W may be one shard
    y_offset: u32,   // element of y that the matrix's first row writes
    last_token: u32, // 1: x is the last of the pass's tokens, not the first
}

#import state
#import silu

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> state: State;
@group(0) @binding(2) var<storage, read> x: array<x_elem>;              // [tokens, COLS]
@group(0) @binding(3) var<storage, read> norm_weight: array<norm_elem>; // [COLS]
@group(0) @binding(4) var<storage, read> w_vec: array<vec4<u32>>;       // [rows of W, BLOCKS] and scales
@group(0) @binding(5) var<storage, read> w_word: array<u32>;            // the same buffer
@group(0) @binding(6) var<storage, read> bias: array<f32>;              // [rows of the whole matrix]
@group(0) @binding(7) var<storage, read_write> y: array<f32>;           // [y_offset + rows of the whole matrix]

#import columns
#import norm
#import weights

struct Sums {
    rows: array<f32, MAX_SLOTS>, // Σ W[row, c] · x[c] · norm_weight[c]
    squares: f32,                // Σ x[c]²
}

// The row of W in a slot, for slots that start at row `first` of y. Slots past the end repeat the last row.
fn slot_row(first: u32, slot: u32) -> u32 {
    if SWIGLU {
        return min(first + slot / 2u, ROWS - 1u) + (slot & 1u) * ROWS;
    }
    return min(first + slot, ROWS - 1u);
}

// The share of thread `lane` of `lanes` in the rows from `first` on. Nothing is read once the run is done.
fn sum_slots(first: u32, lane: u32, lanes: u32) -> Sums {
    var sums: Sums;
    let x_row = select(0u, (state.count - 1u) * COLS, params.last_token == 1u);
    let blocks = select(BLOCKS, 0u, state.done != 0u);
    for (var b = lane; b < blocks; b += lanes) {
        var block: array<vec4<f32>, 8>;
        var halves = array<vec4<f32>, 2>();
        for (var k = 0u; k < 8u; k += 1u) {
            block[k] = load_x(x_row, b * 32u + 4u * k);
            if NORM {
                sums.squares += dot(block[k], block[k]);
                block[k] *= load_norm(b * 32u + 4u * k);
            }
            halves[k / 4u] += block[k];
        }
        let x_sums = vec2<f32>(dot(halves[0], vec4<f32>(1.0)), dot(halves[1], vec4<f32>(1.0)));
        for (var slot = 0u; slot < SLOTS; slot += 1u) {
            sums.rows[slot] += block_dot(slot_row(first, slot) * BLOCKS + b, &block, x_sums);
        }
    }
    return sums;
}

// Writes row r of y from its sum (with SWIGLU: its gate and up), given the sum of squares.
fn write_row(r: u32, sum: f32, up: f32, squares: f32) {
    if r >= ROWS || state.done != 0u {
        return;
    }
    let scale = select(1.0, inverseSqrt(squares / f32(COLS) + EPS), NORM);
    let row = params.first_row + r;
    let at = params.y_offset + row;
    var value = sum * scale;
    if BIAS {
        value += bias[row];
    }
    if SWIGLU {
        value = silu(value) * (up * scale);
    }
    if RESIDUAL {
        value += y[at];
    }
    y[at] = value;
}
