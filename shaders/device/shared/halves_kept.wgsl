// Eight values of a cache of f16, as f16.
fn halves_in(packed: PackedEight) -> vec4<u32> {
    // mutant (attention_subgroup_matrix): return packed => return packed.yxzw
    return packed;
}
