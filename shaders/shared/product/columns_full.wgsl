// Columns of x in whole blocks of 32, as in every quantised matrix: x is read four values at a time.
alias x_elem = vec4<f32>;

// Four values from column `col`, a multiple of 4, of the row that starts at element `start`.
fn load_x(start: u32, col: u32) -> vec4<f32> {
    // mutant (mat_mul): (start + col) / 4u => start / 4u + col / 8u
    // mutant (mat_vec, mat_vec_split): (start + col) / 4u => col / 4u
    return x[(start + col) / 4u];
}
