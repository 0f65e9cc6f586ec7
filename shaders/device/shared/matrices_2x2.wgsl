// Two by two subgroup matrices of sums for each subgroup.
const DOWN = 2u;   // along the tokens
const ACROSS = 2u; // along the rows of W

// Adds the products of K columns, from `x_at` and `w_at` on.
fn multiply(sums: ptr<function, Sums>, x_at: u32, w_at: u32) {
    let x0 = load_x_matrix(x_at);
    let x1 = load_x_matrix(x_at + M * PITCH);
    let w0 = load_w_matrix(w_at);
    (*sums)[0] = multiply_add(x0, w0, (*sums)[0]);
    (*sums)[1] = multiply_add(x1, w0, (*sums)[1]);
    let w1 = load_w_matrix(w_at + N * PITCH);
    (*sums)[2] = multiply_add(x0, w1, (*sums)[2]);
    // mutant (mat_mul_subgroup_matrix): multiply_add(x1, w1, => multiply_add(x0, w1,
    (*sums)[3] = multiply_add(x1, w1, (*sums)[3]);
}

fn write_sums(sums: ptr<function, Sums>, place: Place) {
    write_matrix((*sums)[0], 0u, 0u, place);
    write_matrix((*sums)[1], 1u, 0u, place);
    // mutant (mat_mul_subgroup_matrix): write_matrix((*sums)[2], 0u, 1u => write_matrix((*sums)[2], 1u, 0u
    write_matrix((*sums)[2], 0u, 1u, place);
    write_matrix((*sums)[3], 1u, 1u, place);
}
