// Where the rows of a Mamba-2 layer have their parts: the kernel binds zdt, xbc and heads, and declares HEADS,
// HEAD_DIM, STATE, GROUPS, STRIDE, Z_AT and DT_AT.

fn xbc_row(row: u32) -> u32 {
    return row * (HEADS * HEAD_DIM + 2u * GROUPS * STATE);
}

fn time_step(row: u32, head: u32) -> f32 {
    // mutant (ssm_scan, ssm_chunk_scan): STRIDE + DT_AT + head] + => STRIDE + DT_AT] +
    return softplus(zdt[row * STRIDE + DT_AT + head] + heads[head]);
}

fn x_of(row: u32, head: u32, at: u32) -> f32 {
    return xbc[xbc_row(row) + head * HEAD_DIM + at];
}

fn b_of(row: u32, head: u32, n: u32) -> f32 {
    // mutant (ssm_scan, ssm_chunk_scan): head / (HEADS / GROUPS) * STATE => head % GROUPS * STATE
    return xbc[xbc_row(row) + HEADS * HEAD_DIM + head / (HEADS / GROUPS) * STATE + n];
}

fn c_of(row: u32, head: u32, n: u32) -> f32 {
    return xbc[xbc_row(row) + HEADS * HEAD_DIM + (GROUPS + head / (HEADS / GROUPS)) * STATE + n];
}

// (sum + D x) silu(z)
fn gated(row: u32, head: u32, at: u32, sum: f32) -> f32 {
    let z = zdt[row * STRIDE + Z_AT + head * HEAD_DIM + at];
    // mutant (ssm_scan, ssm_chunk_scan): heads[2u * HEADS + head] * => heads[HEADS + head] *
    return (sum + heads[2u * HEADS + head] * x_of(row, head, at)) * silu(z);
}
