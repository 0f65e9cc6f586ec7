//! Projection onto the doubly stochastic matrices (Sinkhorn and Knopp 1967, "Concerning nonnegative matrices and doubly
//! stochastic matrices", Pacific Journal of Mathematics 21).

/// Every matrix of x `[matrices, n, n]`, none of its numbers negative, with its rows and then its columns divided by
/// their sums, `iterations` times; with a tolerance only until all sums of rows are that close to 1. A row or column of
/// zeros stays one.
pub fn sinkhorn(x: &[f32], n: usize, iterations: u32, tolerance: Option<f32>) -> Vec<f32> {
    let mut y = Vec::with_capacity(x.len());
    for matrix in x.chunks_exact(n * n) {
        let mut matrix: Vec<f64> = matrix.iter().map(|&v| v.into()).collect();
        for iteration in 0..iterations {
            let mut off = false;
            for row in 0..n {
                let sum = normalise(&mut matrix, (0..n).map(|i| row * n + i));
                off |= sum > 0.0 && tolerance.is_none_or(|tolerance| (sum - 1.0).abs() > tolerance.into());
            }
            if iteration > 0 && !off {
                break;
            }
            for column in 0..n {
                normalise(&mut matrix, (0..n).map(|i| i * n + column));
            }
        }
        y.extend(matrix.iter().map(|&v| v as f32));
    }
    y
}

/// Divides the numbers at these places by their sum, unless that is 0; the sum.
fn normalise(matrix: &mut [f64], places: impl Iterator<Item = usize> + Clone) -> f64 {
    let sum: f64 = places.clone().map(|at| matrix[at]).sum();
    if sum > 0.0 {
        places.for_each(|at| matrix[at] /= sum);
    }
    sum
}
