//! Widths around the workgroup, gates so large that exp would overflow, more rows than one axis of a grid has.

use crate::harness::{Bench, Case, Expected, OpBench, Random, Suite, Tolerance};
use crate::kernels::caps::Caps;
use crate::kernels::norm::Rows;
use crate::kernels::reference;
use crate::kernels::swiglu::{Gate, side_by_side, swiglu};
use crate::tensor::fused::{GatedOptions, gated_linear_unit};

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("swiglu"));
    let mut cases: Vec<Case> = [1, 31, 33, 257, 1000].into_iter().map(|width| case(random, width)).collect();
    cases.push(part_case(random));
    let sizes = [(Gate::SwiGlu, 2, 5), (Gate::GeGlu, 3, 257), (Gate::GeGlu, 1, 1), (Gate::GeGlu, 65_537, 1)];
    cases.extend(sizes.map(|(gate, rows, width)| unit_case(caps, random, gate, [rows, width])));
    cases
}

fn case(random: &mut Random, width: u32) -> Case {
    let mut bench = Bench::new(3);
    let x = gates_and_ups(random, 3, width as usize);
    // One row more than the pass has tokens: it must stay as it is.
    let mut expected = random.floats((width * 4) as usize);
    let y = bench.floats(&expected);
    let dispatch = swiglu(Gate::SwiGlu, width, side_by_side(width, bench.floats(&x).into()), y.into());
    let values = activated(Gate::SwiGlu, &x, width as usize);
    expected[..values.len()].copy_from_slice(&values);
    bench.case(format!("3x{width}"), vec![dispatch], y, Expected::Close(expected, Tolerance::PLAIN))
}

/// Gate and up in parts of rows of two buffers.
fn part_case(random: &mut Random) -> Case {
    const WIDTH: usize = 37;
    let mut bench = Bench::new(3);
    let [gate, up] = [(WIDTH + 6, 2), (WIDTH * 3, WIDTH)].map(|(stride, offset)| {
        let values = random.floats(3 * stride);
        let slice = bench.floats(&values).into();
        (Rows { slice, stride: stride as u32, offset: offset as u32 }, values)
    });
    let own = |(rows, values): &(Rows, Vec<f32>), row: usize| {
        values[row * rows.stride as usize + rows.offset as usize..][..WIDTH].to_vec()
    };
    let side_by_side: Vec<f32> = (0..3).flat_map(|row| [own(&gate, row), own(&up, row)].concat()).collect();
    let y = bench.floats(&[0.0; 3 * WIDTH]);
    let dispatch = swiglu(Gate::GeGlu, WIDTH as u32, [gate.0, up.0], y.into());
    let expected = activated(Gate::GeGlu, &side_by_side, WIDTH);
    bench.case("3x37, parts of rows".into(), vec![dispatch], y, Expected::Close(expected, Tolerance::PLAIN))
}

/// Rows of gate, then up; some gates are large.
fn gates_and_ups(random: &mut Random, rows: usize, width: usize) -> Vec<f32> {
    let mut x = random.floats(2 * width * rows);
    for row in x.chunks_exact_mut(2 * width) {
        row[..width].iter_mut().for_each(|gate| *gate *= 10.0);
    }
    x[0] = -200.0;
    if rows > 1 {
        x[2 * width] = 200.0;
    }
    x
}

pub(crate) fn activated(gate: Gate, x: &[f32], width: usize) -> Vec<f32> {
    let mut y = Vec::with_capacity(x.len() / 2);
    for row in x.chunks_exact(2 * width) {
        let (first, up) = row.split_at(width);
        let mut first = first.to_vec();
        match gate {
            Gate::SwiGlu => reference::swiglu(&mut first, up),
            Gate::GeGlu => reference::geglu(&mut first, up),
        }
        y.extend(first);
    }
    y
}

fn unit_case(caps: &Caps, random: &mut Random, gate: Gate, [rows, width]: [u32; 2]) -> Case {
    let mut bench = OpBench::new(caps);
    let values = gates_and_ups(random, rows as usize, width as usize);
    let x = bench.floats(&[rows, 2 * width], &values);
    let y = gated_linear_unit(&mut bench.tape, &x, &GatedOptions { activation: gate }).expect("the shape fits");
    let expected = activated(gate, &values, width as usize);
    bench.case("swiglu", format!("tensor {rows}x{width} {gate:?}"), &y, Expected::Close(expected, Tolerance::PLAIN))
}
