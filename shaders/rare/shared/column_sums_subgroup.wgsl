// Sums over the PARTS consecutive threads that share a column: at most a subgroup.
fn column_sums(sums: vec2<f32>, call: u32, lane: u32) -> vec2<f32> {
    var total = sums;
    // mutant (delta_net): step < PARTS => 2u * step < PARTS
    for (var step = 1u; step < PARTS; step *= 2u) {
        total += subgroupShuffleXor(total, step);
    }
    return total;
}
