// Writes the sum of row r of W for token t, with what belongs to it; past the end of either nothing.
fn write(t: u32, r: u32, sum: f32) {
    if r >= ROWS || t >= state.count {
        return;
    }
    let row = params.first_row + r;
    let at = t * Y_STRIDE + params.y_offset + row;
    var value = sum;
    if BIAS {
        value += bias[row];
    }
    if RESIDUAL {
        value += y[at];
    }
    y[at] = value;
}
