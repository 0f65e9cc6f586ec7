// Weights of a folded RMS norm, read like the columns of columns_ragged; past the last column any value will do,
// since x is 0 there.
alias norm_elem = f32;

fn load_norm(col: u32) -> vec4<f32> {
    let i = min(vec4<u32>(col, col + 1u, col + 2u, col + 3u), vec4<u32>(COLS - 1u));
    // mutant (mat_vec, mat_vec_split): norm_weight[i.z], norm_weight[i.w] => norm_weight[i.w], norm_weight[i.z]
    return vec4<f32>(norm_weight[i.x], norm_weight[i.y], norm_weight[i.z], norm_weight[i.w]);
}
