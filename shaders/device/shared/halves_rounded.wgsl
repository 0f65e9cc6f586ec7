// Eight values of a cache of blocks, or of rows in f32, as f16.
fn halves_in(packed: PackedEight) -> vec4<u32> {
    // mutant (attention_batch_subgroup_matrix): halves_of(unpack_eight(packed)) => vec4<u32>()
    return halves_of(unpack_eight(packed));
}
