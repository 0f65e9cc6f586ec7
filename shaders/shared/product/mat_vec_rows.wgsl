// What the three mat_vec kernels share: bindings, which rows a thread group has, and the epilogue.

override COLS: u32;      // columns of W, values of a column of x
override ROWS: u32;      // rows of y that this dispatch computes; with SWIGLU W has twice as many
override ROWS_PER_GROUP: u32;     // rows of W that a thread group works on together: 1, 2, 4 or 8; even with SWIGLU
override COLUMNS: u32;   // columns of x: 1, or up to 8 in mat_vec_columns
override Y_STRIDE: u32;  // elements from one column of y to the next
override WG_SIZE: u32;
override LANES: u32;     // threads of a thread group, a power of two; 0: known only at run time
override NORM: bool;     // RMS-normalise x on the way
override EPS: f32;
override BIAS: bool;
override RESIDUAL: bool; // add to y
override OUT_SCALE: f32 = 1.0; // of product and bias
override OF_OUTPUTS: bool; // x begins at the pass's first row that has logits, not at its first row
override SWIGLU: bool;   // rows r and ROWS + r of W are gate and up of y[r]
override GELU: bool = false; // the gate goes through GELU rather than SiLU; without SWIGLU the result does

override BLOCKS: u32 = (COLS + 31u) / 32u;                 // blocks of a row
override OUTPUTS: u32 = select(ROWS_PER_GROUP, ROWS_PER_GROUP / 2u, SWIGLU); // rows of y from ROWS_PER_GROUP rows of W
override SUMS: u32 = ROWS_PER_GROUP + select(0u, 1u, NORM); // of a thread group with one column: rows, then squares

struct Params {
    first_row: u32,  // row of the whole matrix that row 0 of W is: W may be one shard
    y_offset: u32,   // element of y that the matrix's first row writes
    other_at: u32,   // element of the prologue's other input that column 0 belongs to
}

#import pass
#import silu
#import gelu

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> x: array<x_elem>;              // [tokens, COLS]
@group(0) @binding(3) var<storage, read> norm_weight: array<norm_elem>; // [COLS]
@group(0) @binding(4) var<storage, read> w_vec: array<vec4<u32>>;       // [rows of W, BLOCKS] and scales
@group(0) @binding(5) var<storage, read> w_word: array<u32>;            // the same buffer
@group(0) @binding(7) var<storage, read_write> y: array<f32>;           // [COLUMNS, y_offset + rows of whole matrix]

#import columns
#import norm
#import weights
#import prologue

// Row number `group_row` of W of a thread group whose first row of y is `first`. Rows past the end repeat the last.
fn weight_row(first: u32, group_row: u32) -> u32 {
    if SWIGLU {
        // mutant (mat_vec, mat_vec_split): (group_row & 1u) * ROWS => (group_row & 1u)
        return min(first + group_row / 2u, ROWS - 1u) + (group_row & 1u) * ROWS;
    }
    return min(first + group_row, ROWS - 1u);
}

// Element of x where its first column starts.
fn x_start() -> u32 {
    if OF_OUTPUTS {
        // mutant (mat_vec, mat_vec_split): this_pass.rows - this_pass.outputs => this_pass.rows
        return (this_pass.rows - this_pass.outputs) * COLS;
    }
    return 0u;
}

// The epilogue inputs of a row of y. They are loaded before the sum is known: nothing waits for them at the end.
struct OutputRow {
    at: u32,      // element of y
    before: f32,  // what is added: bias and residual
    written: bool,
}

// Row r of a column of y. A column is a row of the pass; where its sequence is done, nothing is written.
fn load_row(r: u32, column: u32) -> OutputRow {
    let row = params.first_row + r;
    // mutant (mat_vec, mat_vec_split): & ROW_DONE) == 0u => & ROW_DONE) < 2u
    // mutant (mat_vec_columns): row[column] => row[0]
    let is_live = (this_pass.row[column].flags & ROW_DONE) == 0u;
    // mutant (mat_vec, mat_vec_split): r < ROWS && => r <= ROWS &&
    // mutant (mat_vec_columns): column * Y_STRIDE => column * ROWS
    var found = OutputRow(column * Y_STRIDE + params.y_offset + row, 0.0, r < ROWS && is_live);
    if r < ROWS && BIAS {
        // mutant (mat_vec, mat_vec_split): bias_of(row) => bias_of(r)
        // mutant (mat_vec, mat_vec_split): OUT_SCALE * => 1.0 *
        found.before += OUT_SCALE * bias_of(row);
    }
    if r < ROWS && RESIDUAL {
        found.before += y[found.at];
    }
    return found;
}

// Writes a row from its sum (with SWIGLU: its gate and up), given the sum of squares of x.
fn write_row(row: OutputRow, sum: f32, up: f32, squares: f32) {
    if !row.written {
        return;
    }
    // mutant (mat_vec, mat_vec_split): f32(COLS) + EPS => f32(COLS)
    let scale = select(1.0, inverseSqrt(squares / f32(COLS) + EPS), NORM);
    if SWIGLU {
        let gate = sum * scale;
        if GELU {
            y[row.at] = gelu(gate) * (up * scale);
        } else {
            y[row.at] = silu(gate) * (up * scale);
        }
    } else {
        // mutant (mat_vec, mat_vec_split): scale * OUT_SCALE => scale
        let value = sum * (scale * OUT_SCALE) + row.before;
        if GELU {
            y[row.at] = gelu(value);
        } else {
            y[row.at] = value;
        }
    }
}
