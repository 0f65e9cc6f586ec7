//! Matrices of 1 to 1,000 rows: the projection, its sums, zero rows and columns, very different sizes, tolerances.

use crate::harness::{Case, Expected, OpBench, Random, Suite, Tolerance};
use crate::kernels::caps::Caps;
use crate::kernels::reference;
use crate::tensor::norm::{SinkhornOptions, sinkhorn};
use crate::tensor::reduce::{ReduceOp, ReduceOptions, reduce};

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("sinkhorn"));
    let mut cases = Vec::new();
    for shape in [[3, 1], [5, 2], [1000, 4], [3, 7], [9, 8], [2, 9], [3, 31], [5, 32], [1, 33], [3, 100], [1, 257]] {
        let x = positive(random, shape);
        cases.push(case(caps, &x, shape, "", &iterations(20)));
    }
    cases.push(case(caps, &positive(random, [1, 1000]), [1, 1000], "", &iterations(3)));
    for shape in [[4, 2], [2, 32], [2, 33], [1, 1000]] {
        let x = positive(random, shape);
        let count = match shape[1] {
            // Small matrices can be nearly diagonal, for which convergence is slow.
            2 => 600,
            1000 => 6,
            _ => 40,
        };
        for axis in [1, 2] {
            cases.push(sums(caps, &x, shape, axis, &iterations(count)));
        }
    }
    for shape in [[3, 5], [2, 20], [2, 65]] {
        cases.push(case(caps, &with_zeros(random, shape), shape, "zero rows and columns", &iterations(8)));
        let x: Vec<f32> = random.floats((shape[0] * shape[1] * shape[1]) as usize);
        let wide: Vec<f32> = x.iter().map(|v| 10f32.powf(v * 20.0)).collect();
        cases.push(case(caps, &wide, shape, "1e-20 to 1e20", &iterations(4)));
        let small: Vec<f32> = positive(random, shape).iter().map(|v| v * 1e-15).collect();
        cases.push(case(caps, &small, shape, "sums of 1e-15", &iterations(4)));
        let tolerance = SinkhornOptions { iterations: Some(60), tolerance: Some(1e-5) };
        for axis in [1, 2] {
            cases.push(sums(caps, &positive(random, shape), shape, axis, &tolerance));
        }
        cases.push(settling(caps, shape, 0));
        cases.push(settling(caps, shape, shape[0] - 1));
        cases.push(case(caps, &even_rows(random, shape), shape, "rows of sum 1", &tolerance));
    }
    cases
}

fn iterations(count: u32) -> SinkhornOptions {
    SinkhornOptions { iterations: Some(count), tolerance: None }
}

/// Random numbers from 0.01 to 1.
fn positive(random: &mut Random, [matrices, n]: [u32; 2]) -> Vec<f32> {
    random.floats((matrices * n * n) as usize).iter().map(|v| 0.505 + 0.495 * v).collect()
}

/// The same with a row and a column of zeros in each matrix, and one matrix of zeros alone.
fn with_zeros(random: &mut Random, shape @ [_, n]: [u32; 2]) -> Vec<f32> {
    let size = (n * n) as usize;
    let mut x = positive(random, shape);
    for (at, value) in x.iter_mut().enumerate() {
        let (row, column) = (at % size / n as usize, at % n as usize);
        if at < size || row == 1 || column == 2 {
            *value = 0.0;
        }
    }
    x
}

fn name([matrices, n]: [u32; 2], what: &str, options: &SinkhornOptions) -> String {
    let tolerance = options.tolerance.map_or(String::new(), |tolerance| format!(", tolerance {tolerance}"));
    let comma = if what.is_empty() { "" } else { ", " };
    format!("{matrices}x{n}x{n}, {} iterations{tolerance}{comma}{what}", options.iterations.unwrap_or(0))
}

const fn kernel_name(n: u32) -> &'static str {
    if n <= 32 { "sinkhorn" } else { "sinkhorn_rows" }
}

fn case(caps: &Caps, x: &[f32], shape @ [matrices, n]: [u32; 2], what: &str, options: &SinkhornOptions) -> Case {
    let mut bench = OpBench::new(caps);
    let of_x = bench.floats(&[matrices, n, n], x);
    let y = sinkhorn(&mut bench.tape, &of_x, options).expect("squares");
    let expected = reference::sinkhorn(x, n as usize, options.iterations.unwrap_or(20), options.tolerance);
    bench.case(kernel_name(n), name(shape, what, options), &y, Expected::Close(expected, Tolerance::PLAIN))
}

/// The sums of rows (axis 2) or columns (axis 1) of the projection are 1 within 1e-5, or twice the tolerance.
fn sums(caps: &Caps, x: &[f32], shape @ [matrices, n]: [u32; 2], axis: i32, options: &SinkhornOptions) -> Case {
    let mut bench = OpBench::new(caps);
    let of_x = bench.floats(&[matrices, n, n], x);
    let y = sinkhorn(&mut bench.tape, &of_x, options).expect("squares");
    let sum = ReduceOptions { op: ReduceOp::Sum, axis: Some(axis), keep_dims: false };
    let found = reduce(&mut bench.tape, &y, &sum).expect("an axis");
    let abs = options.tolerance.map_or(1e-5, |tolerance| 2.0 * tolerance);
    let what = if axis == 1 { "sums of columns" } else { "sums of rows" };
    let expected = Expected::Close(vec![1.0; (matrices * n) as usize], Tolerance { abs, rel: 0.0 });
    bench.case(kernel_name(n), name(shape, what, options), &found, expected)
}

/// Rows that sum to 1 at once, while columns do not: an iteration must not take that for the end.
fn even_rows(random: &mut Random, shape @ [_, n]: [u32; 2]) -> Vec<f32> {
    let mut x = positive(random, shape);
    for row in x.chunks_exact_mut(n as usize) {
        let sum: f32 = row.iter().sum();
        row.iter_mut().for_each(|value| *value /= sum);
    }
    x
}

/// With a wide tolerance each matrix stops by itself: number `settled` after an iteration and a half, at 1e-3 from its
/// projection; the others, upper triangles, never do.
fn settling(caps: &Caps, shape @ [matrices, n]: [u32; 2], settled: u32) -> Case {
    let options = SinkhornOptions { iterations: Some(12), tolerance: Some(0.05) };
    let value = |at: u32| {
        let (matrix, row, column) = (at / (n * n), at / n % n, at % n);
        if matrix == settled { 1.0 + (row * column % 3) as f32 * 0.3 } else { f32::from(u8::from(column >= row)) }
    };
    let x: Vec<f32> = (0..matrices * n * n).map(value).collect();
    case(caps, &x, shape, &format!("number {settled} settles"), &options)
}
