// One f16 of the keys or the values, two to a word.
alias kv_elem = u32;

fn k_value(i: u32) -> f32 {
    // mutant (attention_strided): k[i / 2u])[i % 2u] => k[i / 2u])[0]
    return unpack2x16float(k[i / 2u])[i % 2u];
}

fn v_value(i: u32) -> f32 {
    // mutant (attention_strided): v[i / 2u])[i % 2u] => v[i / 2u])[1u - i % 2u]
    return unpack2x16float(v[i / 2u])[i % 2u];
}
