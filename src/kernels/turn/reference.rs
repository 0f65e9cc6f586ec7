//! Rotation of heads by given angles.

/// Turns the heads of x `[rows, heads, head_dim]` by cosines and sines `[rows, head_dim / 2, 2]`: value i of a head and
/// value i + `apart` are a pair, and blocks of 2 · `apart` values follow each other.
pub fn turn([heads, head_dim, apart]: [usize; 3], turns: &[f32], x: &mut [f32]) {
    let pairs = head_dim / 2;
    for (row, turns) in x.chunks_exact_mut(heads * head_dim).zip(turns.chunks_exact(2 * pairs)) {
        for head in row.chunks_exact_mut(head_dim) {
            for (pair, turn) in turns.chunks_exact(2).enumerate() {
                let first = pair / apart * 2 * apart + pair % apart;
                let (a, b, cos, sin) = (head[first], head[first + apart], turn[0], turn[1]);
                (head[first], head[first + apart]) = (a * cos - b * sin, a * sin + b * cos);
            }
        }
    }
}
