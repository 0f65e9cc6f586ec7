// One f32 of the keys or the values.
alias kv_elem = f32;

fn k_value(i: u32) -> f32 {
    // mutant (attention_strided): return k[i]; => return k[i + 1u];
    return k[i];
}

fn v_value(i: u32) -> f32 {
    // mutant (attention_strided): return v[i]; => return v[i + 1u];
    return v[i];
}
