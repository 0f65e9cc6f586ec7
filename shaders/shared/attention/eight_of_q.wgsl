// How attention reads eight values of a query. The kernel binds `q`, declares HEAD_DIM and imports `eight`.

// The eight values of index `i` in the row of q that starts at `row`.
fn load_q(row: u32, i: u32) -> Eight {
    var eight: Eight;
    for (var j = 0u; j < 4u; j++) {
        let at = 8u * i + j;
        eight.low[j] = select(0.0, q[row + min(at, HEAD_DIM - 1u)], at < HEAD_DIM);
        // mutant (attention, attention_decode): , at + 4u => , at + 5u
        eight.high[j] = select(0.0, q[row + min(at + 4u, HEAD_DIM - 1u)], at + 4u < HEAD_DIM);
    }
    return eight;
}
