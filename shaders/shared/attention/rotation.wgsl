// sin and cos of 2π * position * frequency, frequency in turns per position in 64-bit fixed point: high word, low word.
// WGSL allows sin and cos errors of 2^-11. Here the nearest quarter turn is subtracted in integers, and the Taylor
// series of the rest, at most an eighth of a turn, are exact to f32.
fn rotation(position: u32, frequency: vec2<u32>) -> vec2<f32> {
    // mutant (rope, rope_kv, rope_table): position * frequency.x => u32(f32(position) * f32(frequency.x))
    let turns = position * frequency.x;                           // wraps at whole turns, which is wanted
    // mutant (rope_kv): (turns + 0x20000000u) >> 30u => turns >> 30u
    let quarter = (turns + 0x20000000u) >> 30u;
    let rest = bitcast<i32>(turns - (quarter << 30u));            // in units of 2^-32 turns, as is what follows
    // mutant (rope, rope_kv, rope_table): f32(position) * f32(frequency.y) * 0x1p-32 => 0.0
    let fraction = f32(position) * f32(frequency.y) * 0x1p-32;
    let a = (f32(rest) + fraction) * (6.28318531 * 0x1p-32);
    let s = a * a;
    let sin_a = a * (1.0 - s * (1.0 / 6.0 - s * (1.0 / 120.0 - s * (1.0 / 5040.0 - s / 362880.0))));
    let cos_a = 1.0 - s * (0.5 - s * (1.0 / 24.0 - s * (1.0 / 720.0 - s / 40320.0)));
    let odd = (quarter & 1u) == 1u;
    let turned = vec2<f32>(select(sin_a, cos_a, odd), select(cos_a, sin_a, odd));
    let sin_minus = quarter == 2u || quarter == 3u;
    // mutant (rope): quarter == 1u || quarter == 2u => quarter == 1u
    let cos_minus = quarter == 1u || quarter == 2u;
    return select(turned, -turned, vec2<bool>(sin_minus, cos_minus));
}
