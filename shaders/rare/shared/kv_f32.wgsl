// Keys and values as f32 in rows of whole fours: columns col … col+3, col a multiple of 4, of the row at element `row`.
alias kv_elem = vec4<f32>;

fn load_k(row: u32, col: u32) -> vec4<f32> {
    // mutant (attention_strided): k[(row + col) / 4u] => k[row / 4u + col / 8u]
    return k[(row + col) / 4u];
}

fn load_v(row: u32, col: u32) -> vec4<f32> {
    // mutant (attention_strided): v[(row + col) / 4u] => v[col / 4u]
    return v[(row + col) / 4u];
}
