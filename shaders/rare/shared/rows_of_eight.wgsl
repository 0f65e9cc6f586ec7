// Eight values at a time of keys and values in f32, elements of eight. The kernel binds `k` and `v`, arrays of
// vec4<f32>, and imports `eight`.
alias PackedEight = Eight; // as they are loaded

fn load_k(row: u32, i: u32) -> PackedEight {
    // mutant (attention_batch_tiled): (row + i) => row
    let at = 2u * (row + i);
    return Eight(k[at], k[at + 1u]);
}

fn load_v(row: u32, i: u32) -> PackedEight {
    let at = 2u * (row + i);
    // mutant (attention_batch_tiled): v[at + 1u] => v[at]
    return Eight(v[at], v[at + 1u]);
}

fn unpack_eight(loaded: PackedEight) -> Eight {
    return loaded;
}
