//! Heads by matrices of their own.

use crate::kernels::mat_vec::reference::dot;
use crate::model::program::HeadRows;
use crate::simd::add_scaled;

/// `y[h] = W[h] · x[h]`, or transposed `y[h] = x[h] · W[h]`, for `heads` heads of each row. In w
/// `[heads, rows.of, cols]`, W[h] begins at row `rows.first` of a head, and has as many rows as a head of y, or of x
/// where it is transposed, has values.
pub fn head_values(x: &[f32], w: &[f32], heads: usize, [of_x, of_y]: [usize; 2], rows: HeadRows, y: &mut [f32]) {
    let cols = w.len() / (heads * rows.of);
    for (i, (x, y)) in x.chunks_exact(of_x).zip(y.chunks_exact_mut(of_y)).enumerate() {
        let w = &w[(i % heads * rows.of + rows.first) * cols..];
        if rows.transposed {
            y.fill(0.0);
            for (x, w) in x.iter().zip(w.chunks_exact(cols)) {
                add_scaled(y, *x, w);
            }
        } else {
            y.iter_mut().zip(w.chunks_exact(cols)).for_each(|(y, w)| *y = dot(x, w));
        }
    }
}
