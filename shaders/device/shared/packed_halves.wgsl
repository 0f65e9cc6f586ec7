// A block of f16, which the tile takes as it is.
struct Packed {
    eights: array<vec4<u32>, 4>,
}

fn fetch_packed(b: u32) -> Packed {
    // mutant (mat_mul_subgroup_matrix): w_vec[4u * b + 1u] => w_vec[4u * b]
    return Packed(array<vec4<u32>, 4>(w_vec[4u * b], w_vec[4u * b + 1u], w_vec[4u * b + 2u], w_vec[4u * b + 3u]));
}

fn eight_of(block: Packed, k: u32) -> vec4<u32> {
    var eights = block.eights;
    return eights[k];
}
