//! Reductions, argmax, top-k and running sums along every axis, of 1 to 262,144 values; ties, NaN and infinities.

use crate::harness::{Case, Expected, OpBench, Random, Suite, Tolerance};
use crate::kernels::caps::Caps;
use crate::kernels::reference;
use crate::tensor::reduce::{ArgmaxOptions, ReduceOp, ReduceOptions, TopKOptions, argmax, reduce, top_k};
use crate::tensor::scan::{CumsumOptions, cumsum};

const LONG: u32 = 262_144;

/// Short rows that fill no workgroup, at the edges of one, four and sixteen threads for each.
const SHORT: [(&[u32], i32); 5] = [(&[1025, 2], 1), (&[259, 4], -1), (&[3, 67, 5], -1), (&[70, 32], 1), (&[19, 33], 1)];

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("reduce"));
    let mut cases = Vec::new();
    let ops = [ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Product, ReduceOp::Max, ReduceOp::Min];
    // (shape, axis): a row, short and long rows, columns few and many, an axis in the middle; then lines that are cut.
    let shapes: [(&[u32], i32); 8] = [
        (&[1], 0),
        (&[7, 31], 1),
        (&[3, 257], -1),
        (&[1000, 5], 0),
        (&[33, 5000], 0),
        (&[2, 3, 2, 9, 5], -3),
        (&[LONG], 0),
        (&[5003, 3], 0),
    ];
    for op in ops {
        cases.extend(shapes.map(|(shape, axis)| reduce_case(caps, random, op, shape, Some(axis))));
    }
    cases.push(reduce_case(caps, random, ReduceOp::Sum, &[5, 31, 2], None));
    cases.push(reduce_case(caps, random, ReduceOp::Mean, &[70_000, 2], Some(1)));
    cases.push(infinities(caps));
    let software = &caps.with_software(true);
    cases.push(reduce_case(software, random, ReduceOp::Mean, &[67, 2, 300], Some(-1)));
    cases.push(cumsum_case(software, random, &[3, 301], 1, false));
    cases.push(argmax_case(software, &coarse(random, &[3, 301]), &[3, 301], Some(1)));
    for (shape, axis) in SHORT {
        cases.push(reduce_case(caps, random, ReduceOp::Sum, shape, Some(axis)));
        cases.push(reduce_case(caps, random, ReduceOp::Max, shape, Some(axis)));
        cases.push(argmax_case(caps, &coarse(random, shape), shape, Some(axis)));
        cases.push(cumsum_case(caps, random, shape, axis, true));
    }
    for (shape, axis) in shapes {
        cases.push(argmax_case(caps, &coarse(random, shape), shape, Some(axis)));
    }
    cases.push(argmax_case(caps, &coarse(random, &[4, 9]), &[4, 9], None));
    let signs = [-f32::NAN, -3.0, -f32::NAN, -2.0, f32::NEG_INFINITY];
    let zeros = [-0.0, 0.0, -1.0, 0.0, -0.0];
    cases.push(argmax_case(caps, &[NANS, HOSTILE, zeros, signs].concat(), &[4, 5], Some(1)));
    for [rows, length, k] in
        [[1, 1, 1], [3, 31, 5], [5, 257, 64], [2, 1000, 256], [1, 256, 256], [2, 20_001, 40], [1, LONG, 64]]
    {
        cases.extend(top_k_cases(caps, &coarse(random, &[rows, length]), [rows, length], k));
        cases.extend(top_k_cases(caps, &random.floats((rows * length) as usize), [rows, length], k));
    }
    cases.extend(top_k_cases(caps, &[HOSTILE, NANS, [0.0, 1e-40, 2e-40, -1e-40, 1.0]].concat(), [3, 5], 5));
    cases.extend(top_k_cases(caps, &[zeros, signs, HOSTILE].concat(), [3, 5], 3));
    // Equal values past the first part: the lowest indices are chosen.
    cases.extend(top_k_cases(caps, &vec![2.5; 40_000], [1, 40_000], 200));
    cases.push(cumsum_case(caps, random, &[5, 127], 1, false));
    for (shape, axis) in shapes {
        cases.push(cumsum_case(caps, random, shape, axis, false));
        cases.push(cumsum_case(caps, random, shape, axis, true));
    }
    cases
}

const HOSTILE: [f32; 5] = [f32::NAN, f32::NEG_INFINITY, f32::NAN, f32::INFINITY, f32::INFINITY];

/// All of them equal.
const NANS: [f32; 5] = [f32::NAN, -f32::NAN, f32::NAN, -f32::NAN, f32::NAN];

/// Random multiples of 1/64, so that there are ties.
fn coarse(random: &mut Random, shape: &[u32]) -> Vec<f32> {
    let len = shape.iter().product::<u32>() as usize;
    random.floats(len).into_iter().map(|v| (v * 64.0).round() / 64.0).collect()
}

/// outer, length and inner of an axis.
fn around(shape: &[u32], axis: Option<i32>) -> [usize; 3] {
    let Some(axis) = axis else { return [1, shape.iter().product::<u32>() as usize, 1] };
    let axis = if axis < 0 { shape.len() - axis.unsigned_abs() as usize } else { axis as usize };
    let product = |axes: &[u32]| axes.iter().product::<u32>() as usize;
    [product(&shape[..axis]), shape[axis] as usize, product(&shape[axis + 1..])]
}

fn axis_name(shape: &[u32], axis: Option<i32>) -> String {
    axis.map_or(format!("{shape:?} whole"), |axis| format!("{shape:?} axis {axis}"))
}

fn reduce_case(caps: &Caps, random: &mut Random, op: ReduceOp, shape: &[u32], axis: Option<i32>) -> Case {
    let lines @ [_, length, _] = around(shape, axis);
    let values = random.floats(shape.iter().product::<u32>() as usize);
    // A product of factors near 1 stays near 1.
    let near_1 = |v: f32| 1.0 + v / (length as f32).sqrt();
    let x: Vec<f32> = if op == ReduceOp::Product { values.into_iter().map(near_1).collect() } else { values };
    let expected = match op {
        ReduceOp::Sum => reference::reduce(&x, lines, 0.0, |a, b| a + b),
        ReduceOp::Mean => reference::reduce(&x, lines, 0.0, |a, b| a + b / length as f64),
        ReduceOp::Product => reference::reduce(&x, lines, 1.0, |a, b| a * b),
        ReduceOp::Max => reference::reduce(&x, lines, f64::NEG_INFINITY, f64::max),
        ReduceOp::Min => reference::reduce(&x, lines, f64::INFINITY, f64::min),
    };
    // A sum's rounding grows with its terms, a product's with their number.
    let root = (length as f32).sqrt();
    let tolerance = match op {
        ReduceOp::Sum => Tolerance { abs: 5e-7 * root, rel: 1e-6 },
        ReduceOp::Mean => Tolerance { abs: 2e-7, rel: 1e-6 },
        ReduceOp::Product => Tolerance { abs: 0.0, rel: 1e-6 + 3e-7 * root },
        ReduceOp::Max | ReduceOp::Min => Tolerance { abs: 0.0, rel: 0.0 },
    };
    let mut bench = OpBench::new(caps);
    let of_x = bench.floats(shape, &x);
    let y = reduce(&mut bench.tape, &of_x, &ReduceOptions { op, axis, keep_dims: false }).expect("options fit");
    bench.case("reduce", axis_name(shape, axis), &y, Expected::Close(expected, tolerance))
}

/// The largest of rows of -∞, of ±∞, and of the largest numbers.
fn infinities(caps: &Caps) -> Case {
    let (low, high) = (f32::NEG_INFINITY, f32::INFINITY);
    let mut bench = OpBench::new(caps);
    let x = bench.floats(&[3, 3], &[low, low, low, low, high, 0.0, f32::MIN, -f32::MAX, low]);
    let options = ReduceOptions { op: ReduceOp::Max, axis: Some(1), keep_dims: true };
    let y = reduce(&mut bench.tape, &x, &options).expect("options fit");
    let expected = [low, high, f32::MIN].map(f32::to_bits);
    bench.case("reduce", "infinities", &y, Expected::Exact(expected.into()))
}

fn argmax_case(caps: &Caps, x: &[f32], shape: &[u32], axis: Option<i32>) -> Case {
    let mut bench = OpBench::new(caps);
    let of_x = bench.floats(shape, x);
    let y = argmax(&mut bench.tape, &of_x, &ArgmaxOptions { axis, keep_dims: false }).expect("options fit");
    let expected = reference::argmax_axis(x, around(shape, axis));
    let hostile = if x.iter().any(|v| v.is_nan()) { " hostile" } else { "" };
    bench.case("argmax_axis", axis_name(shape, axis) + hostile, &y, Expected::Exact(expected))
}

/// One case for the values, one for the indices.
fn top_k_cases(caps: &Caps, x: &[f32], shape @ [_, length]: [u32; 2], k: u32) -> [Case; 2] {
    let (values, indices) = reference::top_k(x, length as usize, k as usize);
    let exact = Tolerance { abs: 0.0, rel: 0.0 };
    let expected = [Expected::Close(values, exact), Expected::Exact(indices)];
    let mut which = 0;
    expected.map(|expected| {
        let mut bench = OpBench::new(caps);
        let of_x = bench.floats(&shape, x);
        let made = top_k(&mut bench.tape, &of_x, &TopKOptions { k }).expect("k fits");
        let what = ["values", "indices"][which];
        let name = format!("{k} of {shape:?}, {what}{}", if x.iter().any(|v| v.is_nan()) { ", hostile" } else { "" });
        which += 1;
        bench.case("top_k", name, &made[which - 1], expected)
    })
}

fn cumsum_case(caps: &Caps, random: &mut Random, shape: &[u32], axis: i32, exclusive: bool) -> Case {
    let lines @ [_, length, _] = around(shape, Some(axis));
    let x = random.floats(shape.iter().product::<u32>() as usize);
    let mut bench = OpBench::new(caps);
    let of_x = bench.floats(shape, &x);
    let y = cumsum(&mut bench.tape, &of_x, &CumsumOptions { axis: Some(axis), exclusive }).expect("the axis is there");
    let expected = reference::cumsum(&x, lines, exclusive);
    let name = axis_name(shape, Some(axis)) + if exclusive { " exclusive" } else { "" };
    let tolerance = Tolerance { abs: 1e-6 * (length as f32).sqrt(), rel: 2e-6 };
    bench.case("cumsum", name, &y, Expected::Close(expected, tolerance))
}
