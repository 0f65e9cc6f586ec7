// Reading blocks of 32 plain numbers. A type's file gives load_quad(b, k): weights 4k … 4k+3 of block b.

// Block b times x; the sums of x over its halves are unused here: they serve types with minima.
fn block_dot(b: u32, x: ptr<function, array<vec4<f32>, 8>>, x_sums: vec2<f32>) -> f32 {
    return dot(load_quad(b, 0u), (*x)[0]) + dot(load_quad(b, 1u), (*x)[1])
        + dot(load_quad(b, 2u), (*x)[2]) + dot(load_quad(b, 3u), (*x)[3])
        + dot(load_quad(b, 4u), (*x)[4]) + dot(load_quad(b, 5u), (*x)[5])
        // mutant (mat_vec): dot(load_quad(b, 7u), (*x)[7]) => dot(load_quad(b, 7u), (*x)[6])
        + dot(load_quad(b, 6u), (*x)[6]) + dot(load_quad(b, 7u), (*x)[7]);
}

// Weights 4k … and 16 + 4k … of block b times `low` and `high`, four values of x each.
fn quads_dot(b: u32, k: u32, low: vec4<f32>, high: vec4<f32>, x_sums: vec2<f32>) -> f32 {
    // mutant (mat_vec_split): dot(load_quad(b, k + 4u), high) => dot(load_quad(b, k), high)
    return dot(load_quad(b, k), low) + dot(load_quad(b, k + 4u), high);
}
