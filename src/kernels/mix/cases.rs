//! Interpolation, means and rows side by side, of widths around the workgroup; taps that are left out; products;
//! convolutions.

use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::mix::{Mode, Shape, mix, mix_channels, project};
use crate::kernels::reference;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("mix");
    let plain = Shape { width: 65, parts: 1, taps: 4, by_value: false, mode: Mode::Write };
    let shapes = [
        plain,
        Shape { mode: Mode::Add, ..plain },
        Shape { taps: 1, mode: Mode::Replace, ..plain },
        Shape { width: 31, parts: 4, taps: 1, ..plain },
        Shape { width: 31, parts: 4, taps: 1, by_value: true, ..plain },
        Shape { width: 130, parts: 3, taps: 2, by_value: true, ..plain },
        Shape { width: 64, taps: 16, ..plain },
    ];
    let mut cases: Vec<Case> = shapes.into_iter().map(|shape| case(random, shape)).collect();
    cases.extend([[7, 65], [130, 31]].map(|sizes| product(random, sizes)));
    cases.extend([[65, 9], [130, 3]].map(|sizes| convolution(random, sizes)));
    cases
}

fn case(random: &mut Random, shape: Shape) -> Case {
    const ROWS: usize = 5;
    const OF_X: u32 = 9;
    let taps = ROWS * shape.parts * shape.taps;
    let mut x = random.floats(OF_X as usize * shape.width);
    // The last row belongs to nobody: only taps of weight 0 name it.
    x[(OF_X as usize - 1) * shape.width..].fill(f32::NAN);
    let mut indices: Vec<u32> = (0..taps).map(|_| random.below(OF_X - 1)).collect();
    let mut weights = random.floats(taps);
    for (index, weight) in indices.iter_mut().zip(&mut weights).skip(1).step_by(3) {
        (*index, *weight) = (OF_X - 1, 0.0);
    }
    let mut expected = random.floats(ROWS * shape.parts * shape.width);
    let mut bench = Bench::new(ROWS as u32);
    // A value behind the last: nothing is written past the rows.
    let y = bench.floats(&[expected.as_slice(), &[7.0]].concat());
    let tables = [bench.bytes(bytemuck::cast_slice(&indices)), bench.floats(&weights)].map(Into::into);
    let dispatch = mix(shape, tables, bench.floats(&x).into(), y.into());
    reference::mix(shape, [&indices, bytemuck::cast_slice(&weights)], &x, &mut expected);
    expected.push(7.0);
    bench.case(format!("{shape:?}"), vec![dispatch], y, Expected::Close(expected, Tolerance::PLAIN))
}

fn convolution(random: &mut Random, [width, taps]: [usize; 2]) -> Case {
    const ROWS: usize = 6;
    let (x, kernel) = (random.floats(ROWS * width), random.floats(width * taps));
    let mut indices: Vec<u32> = (0..ROWS * taps).map(|_| random.below(ROWS as u32)).collect();
    let mut weights = random.floats(ROWS * taps);
    for (index, weight) in indices.iter_mut().zip(&mut weights).step_by(4) {
        (*index, *weight) = (u32::MAX, 0.0);
    }
    let mut bench = Bench::new(ROWS as u32);
    let y = bench.floats(&vec![f32::NAN; ROWS * width]);
    let tables = [bench.bytes(bytemuck::cast_slice(&indices)), bench.floats(&weights)].map(Into::into);
    let inputs = [&x, &kernel].map(|values| bench.floats(values).into());
    let dispatch = mix_channels([width, taps], tables, inputs, y.into());
    let mut expected = vec![0.0; ROWS * width];
    let tables = [indices.as_slice(), bytemuck::cast_slice(&weights)];
    reference::mix_channels([width, taps], tables, [&x, &kernel], &mut expected);
    let name = format!("convolution of {ROWS} x {width} with {taps} taps");
    bench.case(name, vec![dispatch], y, Expected::Close(expected, Tolerance::PLAIN))
}

fn product(random: &mut Random, [taps, width]: [usize; 2]) -> Case {
    const ROWS: usize = 3;
    let (a, x) = (random.floats(ROWS * taps), random.floats(taps * width));
    let mut bench = Bench::new(ROWS as u32);
    let y = bench.floats(&vec![f32::NAN; ROWS * width]);
    let dummy = bench.floats(&[0.0; 4]).into();
    let dispatch = project([taps, width], bench.floats(&a).into(), bench.floats(&x).into(), y.into(), dummy);
    let mut expected = vec![0.0; ROWS * width];
    reference::project([taps, width], &a, &x, &mut expected);
    let name = format!("product of {ROWS} x {taps} with {taps} x {width}");
    bench.case(name, vec![dispatch], y, Expected::Close(expected, Tolerance::PLAIN))
}
