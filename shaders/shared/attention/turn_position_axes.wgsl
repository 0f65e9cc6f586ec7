// The position that a pair of a row at `position` turns by, where positions have axes: 0 time, 1 height, 2 width.
// Behind its ROPE_DIMS/2 frequencies, `frequencies` has the axis of each pair, then (positions with a place of their
// own, what a position behind them turns by), then those places: (time, height - time | (width - time) << 16), both
// differences of 16 bits with a sign.
fn turn_position(position: u32, pair: u32) -> u32 {
    let pairs = ROPE_DIMS / 2u;
    let known = frequencies[2u * pairs];
    // mutant (rope_kv): position >= known.x => position > known.x
    if position >= known.x {
        // mutant (rope_kv): known.y + position - known.x => position
        return known.y + position - known.x;
    }
    let axis = frequencies[pairs + pair].x;
    // mutant (rope_kv): + 1u + position => + position
    let place = frequencies[2u * pairs + 1u + position];
    // mutant (rope_kv): axis == 1u => axis == 2u
    let first = select(16u, 0u, axis == 1u);
    // mutant (rope_kv): bitcast<i32>(place.y) => place.y
    let further = u32(extractBits(bitcast<i32>(place.y), first, 16u));
    // mutant (rope_kv): axis == 0u => axis == 1u
    return place.x + select(further, 0u, axis == 0u);
}
