// Keys and values in rows that are not whole fours: columns past HEAD_DIM count as 0.
#import kv_value

fn load_k(row: u32, col: u32) -> vec4<f32> {
    var four: vec4<f32>;
    // mutant (attention_strided): min(4u, HEAD_DIM - col); i++) { => min(4u, HEAD_DIM - col) - 1u; i++) {
    for (var i = 0u; i < min(4u, HEAD_DIM - col); i++) {
        four[i] = k_value(row + col + i);
    }
    return four;
}

fn load_v(row: u32, col: u32) -> vec4<f32> {
    var four: vec4<f32>;
    for (var i = 0u; i < min(4u, HEAD_DIM - col); i++) {
        // mutant (attention_strided): v_value(row + col + i) => v_value(row + i)
        four[i] = v_value(row + col + i);
    }
    return four;
}
