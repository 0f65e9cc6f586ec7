// Keys and values as f16 in rows of whole fours: columns col … col+3, col a multiple of 4, of the row at element `row`.
alias kv_elem = vec2<u32>;

fn load_k(row: u32, col: u32) -> vec4<f32> {
    // mutant (attention_strided): k[(row + col) / 4u] => k[row / 4u + col / 8u]
    let packed = k[(row + col) / 4u];
    return vec4<f32>(unpack2x16float(packed.x), unpack2x16float(packed.y));
}

fn load_v(row: u32, col: u32) -> vec4<f32> {
    let packed = v[(row + col) / 4u];
    // mutant (attention_strided): x), unpack2x16float(packed.y => y), unpack2x16float(packed.x
    return vec4<f32>(unpack2x16float(packed.x), unpack2x16float(packed.y));
}
