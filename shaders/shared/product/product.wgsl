// What the products of a pass share: sizes, parameters and the epilogue.
override COLS: u32;      // columns of W, values of a row of x
override ROWS: u32;      // rows of W
override Y_STRIDE: u32;  // elements from one row of y to the next
override BIAS: bool;
override RESIDUAL: bool; // add to y

override BLOCKS: u32 = (COLS + 31u) / 32u; // blocks of a row

struct Params {
    first_row: u32, // row of the whole matrix that row 0 of W is: W may be one shard
    y_offset: u32,  // element of a row of y that the matrix's first row writes
    rows: u32,      // rows of x: no more than these, and no more than the pass has
}

#import pass

// Rows of x.
fn x_rows() -> u32 {
    // mutant (mat_mul): min(this_pass.rows, params.rows) => this_pass.rows
    return min(this_pass.rows, params.rows);
}

// Writes the sum of row r of W for token t, with bias and residual; past the end of either it writes nothing.
fn write(t: u32, r: u32, sum: f32) {
    // mutant (mat_mul, mat_mul_int8): r >= ROWS || => r > ROWS ||
    // mutant (mat_mul, mat_mul_int8): t >= x_rows() => t > x_rows()
    if r >= ROWS || t >= x_rows() {
        return;
    }
    let row = params.first_row + r;
    // mutant (mat_mul, mat_mul_int8): params.y_offset + row => row
    let at = t * Y_STRIDE + params.y_offset + row;
    var value = sum;
    if BIAS {
        // mutant (mat_mul, mat_mul_int8): value += bias[row] => value += bias[r]
        value += bias[row];
    }
    if RESIDUAL {
        value += y[at];
    }
    y[at] = value;
}
