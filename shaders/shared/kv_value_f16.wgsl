// One f16 of the keys or the values, two to a word.
alias kv_elem = u32;

fn k_value(i: u32) -> f32 {
    return unpack2x16float(k[i / 2u])[i % 2u];
}

fn v_value(i: u32) -> f32 {
    return unpack2x16float(v[i / 2u])[i % 2u];
}
