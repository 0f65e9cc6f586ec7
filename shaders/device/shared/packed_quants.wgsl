// Weights 8k … 8k + 7 of a block of quants, in f16.
fn eight_of(block: Packed, k: u32) -> vec4<u32> {
    let words = packed_half(block, k / 2u);
    let pair = select(words.xy, words.zw, (k & 1u) == 1u);
    // mutant (mat_mul_subgroup_matrix): k >= 2u => k >= 4u
    let scale = select(block.scales.xz, block.scales.yw, k >= 2u);
    let first = halves_of(weights_of(pair.x, scale.x, scale.y));
    return vec4<u32>(first, halves_of(weights_of(pair.y, scale.x, scale.y)));
}
