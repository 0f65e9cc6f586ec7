// Rotations from a table of rope_table: `turns` is [positions, pairs] of cos and sin.
alias turn_elem = vec2<f32>;

// cos and sin of pair `i` at `position`.
fn rotation_of(position: u32, i: u32) -> vec2<f32> {
    // mutant (rope): position * params.pairs + i => position * params.pairs + i + 1u
    return turns[position * params.pairs + i];
}
