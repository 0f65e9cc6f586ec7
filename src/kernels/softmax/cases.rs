//! Rows of all lengths, causal squares and oblongs, masks of all ranks, caps, infinities and very large numbers.

use crate::harness::{Case, Expected, OpBench, Random, Suite, Tolerance};
use crate::kernels::caps::Caps;
use crate::kernels::reference::{ScoreShape, softmax_rows};
use crate::tensor::norm::{SoftmaxOptions, softmax};

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("softmax"));
    let mut cases = Vec::new();
    let shapes: &[&[u32]] =
        &[&[1, 1], &[3, 31], &[7, 33], &[5, 255], &[5, 257], &[2, 3, 1000], &[100_000], &[100_000, 3]];
    for &shape in shapes {
        cases.push(case(caps, random, shape, None, &SoftmaxOptions::default()));
    }
    let scaled = SoftmaxOptions { scale: Some(12.0), ..SoftmaxOptions::default() };
    let capped = SoftmaxOptions { soft_cap: Some(2.5), ..scaled.clone() };
    let causal = SoftmaxOptions { causal: true, ..SoftmaxOptions::default() };
    cases.push(case(caps, random, &[3, 257], None, &scaled));
    cases.push(case(caps, random, &[3, 257], None, &capped));
    // As many keys as queries, more, and fewer: then the first queries attend to none.
    for shape in [[2, 33, 33], [2, 5, 300], [2, 7, 3]] {
        cases.push(case(caps, random, &shape, None, &causal));
    }
    let masks: &[(&[u32], &[u32])] = &[
        (&[2, 3, 5, 31], &[31]),
        (&[2, 3, 5, 31], &[5, 31]),
        (&[2, 3, 5, 131], &[2, 1, 5, 131]),
        (&[2, 1, 3, 2, 7], &[2, 1, 3, 1, 7]),
        (&[2, 3, 2, 2, 7], &[1, 3, 1, 2, 7]),
    ];
    for &(shape, mask) in masks {
        cases.push(case(caps, random, shape, Some(mask), &scaled));
    }
    let all = SoftmaxOptions { causal: true, ..capped };
    for caps in [caps, &caps.with_software(true)] {
        cases.push(case(caps, random, &[2, 9, 140], Some(&[9, 140]), &all));
    }
    cases.extend(hostile(caps));
    cases
}

fn case(caps: &Caps, random: &mut Random, shape: &[u32], mask: Option<&[u32]>, options: &SoftmaxOptions) -> Case {
    let floats = |random: &mut Random, shape: &[u32]| random.floats(shape.iter().product::<u32>() as usize);
    let x = floats(random, shape);
    // A third of a mask is -∞.
    let hide = |(i, v): (usize, f32)| if i % 3 == 1 { f32::NEG_INFINITY } else { v };
    let values: Option<Vec<f32>> = mask.map(|mask| floats(random, mask).into_iter().enumerate().map(hide).collect());
    built(caps, shape, &x, mask.zip(values.as_deref()), options)
}

/// The row of a mask `[.., mask width]` that serves a row of x, axis by axis.
fn mask_row(shape: &[u32], mask: &[u32], mut row: usize) -> usize {
    let (mut found, mut stride) = (0, 1);
    for axis in 2..=shape.len() {
        let length = shape[shape.len() - axis] as usize;
        let of_mask = if axis <= mask.len() { mask[mask.len() - axis] as usize } else { 1 };
        found += (row % length) % of_mask * stride;
        stride *= of_mask;
        row /= length;
    }
    found
}

fn built(caps: &Caps, shape: &[u32], x: &[f32], mask: Option<(&[u32], &[f32])>, options: &SoftmaxOptions) -> Case {
    let mut bench = OpBench::new(caps);
    let of_x = bench.floats(shape, x);
    let of_mask = mask.map(|(shape, values)| bench.floats(shape, values));
    let y = softmax(&mut bench.tape, &of_x, of_mask.as_ref(), options).expect("shapes fit");
    let width = *shape.last().expect("an axis") as usize;
    let causal_rows = options.causal.then(|| shape[shape.len() - 2] as usize);
    let scores = ScoreShape { width, causal_rows, scale: options.scale.unwrap_or(1.0), soft_cap: options.soft_cap };
    let added = |row, i| mask.map_or(0.0, |(axes, values)| values[mask_row(shape, axes, row) * width + i]);
    let expected = softmax_rows(x, &scores, added);
    let mut name = format!("{shape:?}");
    for (part, used) in
        [("scale", options.scale.is_some()), ("cap", options.soft_cap.is_some()), ("causal", options.causal)]
    {
        name += &if used { format!(" {part}") } else { String::new() };
    }
    name += &mask.map_or(String::new(), |(shape, _)| format!(" mask {shape:?}"));
    bench.case("softmax", name, &y, Expected::Close(expected, Tolerance::PLAIN))
}

/// Rows of −∞ alone, of −∞ and one number, of numbers whose exponentials overflow, of ±1e30, and of +∞.
fn hostile(caps: &Caps) -> Vec<Case> {
    const NO: f32 = f32::NEG_INFINITY;
    let rows = [
        [NO; 5],
        [NO, -7.0, NO, NO, NO],
        [1e30, -1e30, 1e30, 0.0, 5.0],
        [-1e30, -1e30, NO, -1e30, -1e30],
        [f32::MIN, 3.0, f32::MAX, NO, 0.0],
        [1000.0, 999.0, -1000.0, 1000.5, 0.0],
        [f32::INFINITY, 0.0, f32::INFINITY, NO, 1.0],
        [0.0, -0.0, 1e-40, -1e-40, 0.0],
    ];
    let x = rows.concat();
    let huge = SoftmaxOptions { scale: Some(1e20), ..SoftmaxOptions::default() };
    let capped = SoftmaxOptions { soft_cap: Some(30.0), ..SoftmaxOptions::default() };
    let plain = SoftmaxOptions::default();
    let options = [("hostile rows", plain), ("hostile rows overflow", huge), ("hostile rows", capped)];
    let cases = options.map(|(name, options)| {
        let mut case = built(caps, &[8, 5], &x, None, &options);
        case.name = format!("{name} {}", case.name);
        case
    });
    cases.into()
}
