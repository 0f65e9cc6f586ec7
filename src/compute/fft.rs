//! Discrete Fourier transforms: `fft`, `ifft`, `rfft`, `irfft`, `stft`.

use std::f64::consts::PI;

use super::{Numbers, Run};
use crate::harness::{Case, Expected, OpBench, Random, Suite, Tolerance};
use crate::kernels::caps::Caps;
use crate::kernels::mat_mul_dense::Stored;
use crate::kernels::spec::{KernelSpec, PARAMS, bool_override, grid_1d, params, read, write};
use crate::tensor::Tensor;

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// Transforms of this dispatch.
        pub transforms: u32,
        /// Transforms of a row.
        pub columns: u32,
        /// Elements of a row's whole transform.
        pub length: u32,
        /// Elements of a transform that are given; the others are 0.
        pub given: u32,
        /// Rows that overlap each other in one row of x.
        pub frames: u32,
        /// From frame to frame.
        pub hop: u32,
        /// Elements of a row of x.
        pub of_x: u32,
        /// Elements of a row of y.
        pub of_y: u32,
        /// Between elements of a transform in x.
        pub load_step: u32,
        /// Columns of x that are `load_skip` apart.
        pub load_fold: u32,
        /// Between these.
        pub load_skip: u32,
        /// Between them and the next ones.
        pub load_far: u32,
        /// Between elements of a transform in y.
        pub store_step: u32,
        /// Between columns of y.
        pub store_skip: u32,
        /// Factor of the results.
        pub scale: f32,
    }
}

/// The contract with `shaders/compute/fft.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "compute/fft",
    bindings: &[PARAMS, read("x"), read("table"), read("far"), read("before"), read("after"), write("y")],
    params: Params::LAYOUT,
    overrides: &["N", "INVERSE", "LOAD", "STORE", "BEFORE", "AFTER", "BETWEEN", "LOAD_ACROSS", "STORE_ACROSS"],
};

/// Elements of a workgroup.
const ELEMENTS: u32 = 1024;

/// Complex, real, or the first half of what is symmetric.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    Complex,
    Real,
    Half,
}

/// Transforms of rows.
#[derive(Debug, Clone, Copy)]
struct Shape {
    rows: u32,
    length: u32,
    given: u32,
    frames: u32,
    hop: u32,
    load: Form,
    store: Form,
    factors: bool,
    inverse: bool,
    /// Lengths of the transforms that it is made of, their product.
    parts: &'static [u32],
}

const FORWARD: Shape = Shape {
    rows: 1,
    length: 1,
    given: 1,
    frames: 1,
    hop: 0,
    load: Form::Complex,
    store: Form::Complex,
    factors: false,
    inverse: false,
    parts: &[],
};

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("compute/fft"));
    let whole = |rows, length| Shape { rows, length, given: length, ..FORWARD };
    let shapes = [
        whole(3, 1),
        whole(5, 2),
        whole(700, 4),
        Shape { inverse: true, ..whole(31, 8) },
        Shape { load: Form::Real, store: Form::Half, ..whole(9, 32) },
        Shape { load: Form::Half, store: Form::Real, inverse: true, ..whole(9, 64) },
        Shape { factors: true, given: 77, ..whole(5, 128) },
        Shape { load: Form::Real, store: Form::Half, factors: true, frames: 4, hop: 50, given: 200, ..whole(8, 256) },
        whole(3, 1024),
        Shape { parts: &[64, 32], ..whole(2, 2048) },
        Shape { load: Form::Half, store: Form::Real, inverse: true, parts: &[64, 64], ..whole(1, 4096) },
        Shape { factors: true, given: 1025, parts: &[64, 32], ..whole(1, 2048) },
        Shape { parts: &[8, 4, 2], ..whole(3, 64) },
        Shape {
            load: Form::Real,
            store: Form::Half,
            factors: true,
            frames: 2,
            hop: 9,
            given: 1000,
            parts: &[8, 16, 8],
            ..whole(4, 1024)
        },
        Shape { load: Form::Half, store: Form::Real, inverse: true, parts: &[16, 8, 16], ..whole(1, 2048) },
    ];
    shapes.iter().map(|shape| case(caps, random, shape)).collect()
}

/// e^(−2π√−1 · turns)
fn turn(turns: f64) -> [f64; 2] {
    [(2.0 * PI * turns).cos(), -(2.0 * PI * turns).sin()]
}

fn times(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

/// The bench of a case and what its dispatches have in common.
struct Work<'a> {
    shape: &'a Shape,
    bench: OpBench,
    x: Numbers,
    before: Numbers,
    after: Numbers,
    of_x: u32,
    of_y: u32,
}

impl<'a> Work<'a> {
    fn new(caps: &Caps, random: &mut Random, shape: &'a Shape) -> Self {
        let &Shape { rows, length, given, frames, hop, load, store, .. } = shape;
        let mut bench = OpBench::new(caps);
        let of_x = if load == Form::Half { length / 2 + 1 } else { given + (frames - 1) * hop };
        let width = if load == Form::Real { 1 } else { 2 };
        let of_y = if store == Form::Half { length / 2 + 1 } else { length };
        let mut numbers = |shape: &[u32]| Numbers::new(&mut bench, random, Stored::F32, shape);
        let (x, before, after) = (numbers(&[rows / frames, of_x, width]), numbers(&[given, 2]), numbers(&[of_y, 2]));
        Self { shape, bench, x, before, after, of_x, of_y }
    }

    /// Transforms of `n`; `params` are those of a whole transform but for what a dispatch of two changes.
    fn push(&mut self, n: u32, x: &Tensor, [load, store]: [Form; 2], part: Part, params: &Params) -> Tensor {
        let Shape { factors, inverse, rows, length, .. } = *self.shape;
        let far = far(&mut self.bench, params.length);
        let elements = if matches!(part, Part::First | Part::Middle) { length } else { self.of_y };
        let table = turns(&mut self.bench, (0..n).map(|i| f64::from(i) / f64::from(n)));
        let width = if store == Form::Real { 1 } else { 2 };
        let run = Run {
            spec: &SPEC,
            variant: &n.to_string(),
            constants: &[
                ("N", n.into()),
                ("INVERSE", bool_override(inverse)),
                ("LOAD", f64::from(load as u32)),
                ("STORE", bool_override(store == Form::Real)),
                ("BEFORE", bool_override(factors && matches!(part, Part::Whole | Part::First))),
                ("AFTER", bool_override(factors && matches!(part, Part::Whole | Part::Last))),
                ("BETWEEN", bool_override(matches!(part, Part::First | Part::Middle))),
                ("LOAD_ACROSS", bool_override(matches!(part, Part::First | Part::Middle))),
                ("STORE_ACROSS", bool_override(part != Part::Whole)),
            ],
            inputs: &[x, &table, &far, &self.before.tensor, &self.after.tensor],
            shape: &[rows, elements, width],
            grid: grid_1d(params.transforms.div_ceil(ELEMENTS / n)),
        };
        run.push(&mut self.bench, params)
    }

    /// The transform from x to y.
    fn run(&mut self) -> Tensor {
        let &Shape { rows, length, given, frames, hop, load, store, parts, .. } = self.shape;
        let (of_x, of_y, mut x) = (self.of_x, self.of_y, self.x.tensor.clone());
        let whole = Params { length, given, frames, hop, of_x, ..Params::default() };
        let of_part = |rest| Params { length: rest, given: rest, frames: 1, of_x: rest, ..Params::default() };
        let (&last, parts) = parts.split_last().unwrap_or((&length, &[]));
        let (mut rest, mut part) = (length, Part::Whole);
        for &n in parts {
            part = if rest == length { Part::First } else { Part::Middle };
            let columns = rest / n;
            let params = Params {
                transforms: rows * (length / rest) * columns,
                columns,
                of_y: rest,
                load_step: columns,
                load_fold: columns,
                load_skip: 1,
                store_step: columns,
                store_skip: 1,
                scale: 1.0,
                ..if part == Part::First { whole } else { of_part(rest) }
            };
            x = self.push(
                n,
                &x,
                [if part == Part::First { load } else { Form::Complex }, Form::Complex],
                part,
                &params,
            );
            rest = columns;
        }
        let is_whole = part == Part::Whole;
        let (columns, first) = (length / last, parts.first().copied().unwrap_or(1));
        let params = Params {
            transforms: rows * columns,
            columns,
            of_y,
            load_step: 1,
            load_fold: first,
            load_skip: length / first,
            load_far: last,
            store_step: columns,
            store_skip: 1,
            scale: 0.5,
            ..if is_whole { whole } else { of_part(length) }
        };
        let (form, part) = if is_whole { (load, Part::Whole) } else { (Form::Complex, Part::Last) };
        self.push(last, &x, [form, store], part, &params)
    }

    /// The definition.
    fn expected(&self) -> Vec<f64> {
        let &Shape { rows, length, given, frames, hop, load, store, factors, inverse, .. } = self.shape;
        let pair = |values: &[f64], i: u32| [values[2 * i as usize], values[2 * i as usize + 1]];
        let element = |row: u32, i: u32| {
            let start = row / frames * self.of_x + row % frames * hop;
            let value = match load {
                Form::Real => [self.x.values[(start + i) as usize], 0.0],
                Form::Half if i >= self.of_x => {
                    let [re, im] = pair(&self.x.values, start + length - i);
                    [re, -im]
                }
                _ => pair(&self.x.values, start + i),
            };
            if factors { times(value, pair(&self.before.values, i)) } else { value }
        };
        let mut y = Vec::new();
        for row in 0..rows {
            let elements: Vec<[f64; 2]> = (0..given).map(|i| element(row, i)).collect();
            for k in 0..self.of_y {
                let mut sum = [0.0, 0.0];
                for (i, &value) in (0u64..).zip(&elements) {
                    let turns = (i * u64::from(k) % u64::from(length)) as f64 / f64::from(length);
                    let [re, im] = times(value, turn(if inverse { -turns } else { turns }));
                    sum = [sum[0] + 0.5 * re, sum[1] + 0.5 * im];
                }
                let value = if factors { times(sum, pair(&self.after.values, k)) } else { sum };
                y.extend_from_slice(if store == Form::Real { &value[..1] } else { &value });
            }
        }
        y
    }
}

/// Which dispatch of a transform.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    Whole,
    First,
    Middle,
    Last,
}

fn turns(bench: &mut OpBench, turns: impl Iterator<Item = f64>) -> Tensor {
    let values: Vec<f32> = turns.flat_map(|turns| turn(turns).map(|value| value as f32)).collect();
    bench.floats(&[values.len() as u32 / 2, 2], &values)
}

/// Twiddles between two dispatches of a transform of `length`: fine and coarse.
fn far(bench: &mut OpBench, length: u32) -> Tensor {
    let fine = (0..1024).map(|i| f64::from(i) / f64::from(length));
    let coarse = (0..length.div_ceil(1024)).map(|i| f64::from(i) * 1024.0 / f64::from(length));
    turns(bench, fine.chain(coarse))
}

fn case(caps: &Caps, random: &mut Random, shape: &Shape) -> Case {
    let mut work = Work::new(caps, random, shape);
    let y = work.run();
    let expected: Vec<f32> = work.expected().into_iter().map(|value| value as f32).collect();
    let largest = expected.iter().fold(0f32, |largest, value| largest.max(value.abs()));
    let tolerance = Tolerance { abs: 2e-6 * largest, rel: 0.0 };
    work.bench.case(SPEC.kernel_name, format!("{shape:?}"), &y, Expected::Close(expected, tolerance))
}
