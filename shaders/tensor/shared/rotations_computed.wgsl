// Rotations from the pairs' frequencies: `turns` is [pairs], turns per position in 64-bit fixed point.
#import rotation

alias turn_elem = vec2<u32>;

// cos and sin of pair `i` at `position`.
fn rotation_of(position: u32, i: u32) -> vec2<f32> {
    // mutant (rope): * params.factor =>
    return rotation(position, turns[i]).yx * params.factor;
}
