// b of a product of tensors as plain numbers.

fn load_b(i: u32) -> f32 {
    return stored_value(w_word[stored_word(i, B_KIND)], i, B_KIND);
}

// The elements of four neighbouring columns.
fn load_b_quad(i: vec4<u32>) -> vec4<f32> {
    // mutant (mat_mul_dense): load_b(i.w) => load_b(i.z)
    return vec4<f32>(load_b(i.x), load_b(i.y), load_b(i.z), load_b(i.w));
}
