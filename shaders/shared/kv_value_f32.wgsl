// One f32 of the keys or the values.
alias kv_elem = f32;

fn k_value(i: u32) -> f32 {
    return k[i];
}

fn v_value(i: u32) -> f32 {
    return v[i];
}
