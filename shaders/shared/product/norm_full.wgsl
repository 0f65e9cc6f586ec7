// Weights of a folded RMS norm, read like the columns of columns_full.
alias norm_elem = vec4<f32>;

fn load_norm(col: u32) -> vec4<f32> {
    // mutant (mat_vec, mat_vec_split): col / 4u => col / 8u
    return norm_weight[col / 4u];
}
