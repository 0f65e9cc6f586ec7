// The position that a pair of a row at `position` turns by.
fn turn_position(position: u32, pair: u32) -> u32 {
    // mutant (rope_kv): return position; => return position + pair;
    return position;
}
