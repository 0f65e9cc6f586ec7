//! Permutations up to rank 5, slices, concatenations and broadcast copies, of words and of halves; odd sizes.

use crate::gguf::f16_from_f32;
use crate::harness::{Case, Expected, OpBench, Random, Suite, Tolerance};
use crate::kernels::caps::Caps;
use crate::kernels::movement::reference;
use crate::tensor::movement::{
    ConcatOptions, ExpandOptions, NarrowOptions, TransposeOptions, concat, expand, narrow, transpose,
};
use crate::tensor::{DType, Tensor};

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("movement"));
    let mut cases = Vec::new();
    for (which, dtype) in [DType::U32, DType::F16].into_iter().enumerate() {
        let mut bench = |shapes: &[&[u32]]| Bench::new(caps, random, dtype, shapes);
        let transposes = TRANSPOSES.iter();
        cases.extend(transposes.map(|&(shape, axes, tiled)| transposed(bench(&[shape]), axes, tiled[which])));
        cases.extend(NARROWS.iter().map(|&(shape, axis, part)| narrowed(bench(&[shape]), axis, part)));
        cases.extend(CONCATS.iter().map(|&(shapes, axis)| joined(bench(shapes), axis)));
        cases.extend(EXPANDS.iter().map(|&(shape, to)| expanded(bench(&[shape]), to)));
    }
    cases
}

/// Shape, axes, and whether words and halves are transposed in tiles.
const TRANSPOSES: &[(&[u32], &[usize], [bool; 2])] = &[
    (&[1], &[0], [false, false]),
    (&[31, 33], &[1, 0], [true, false]),
    (&[32, 64], &[1, 0], [true, true]),
    (&[257, 1000], &[1, 0], [true, false]),
    (&[1000, 3], &[1, 0], [false, false]),
    (&[5, 33, 34], &[0, 2, 1], [true, false]),
    (&[9, 3, 31], &[1, 0, 2], [false, false]),
    (&[34, 9, 10], &[2, 1, 0], [true, true]),
    (&[2, 12, 3, 32], &[0, 2, 1, 3], [false, false]),
    (&[2, 3, 4, 5, 6], &[4, 3, 2, 1, 0], [false, false]),
    (&[3, 10, 2, 3, 9], &[2, 4, 0, 3, 1], [true, true]),
];

/// Shape, axis, start and length.
const NARROWS: &[(&[u32], usize, [u32; 2])] = &[
    (&[257], 0, [31, 33]),
    (&[33, 31], 0, [1, 31]),
    (&[33, 31], 1, [3, 1]),
    (&[5, 9, 7], 1, [2, 3]),
    (&[2, 3, 4, 5, 6], 3, [1, 3]),
    (&[31, 1000], 1, [0, 1000]),
];

/// Shapes and axis.
const CONCATS: &[(&[&[u32]], usize)] = &[
    (&[&[1], &[1]], 0),
    (&[&[31, 33]], 1),
    (&[&[257], &[31], &[1], &[1000]], 0),
    (&[&[33, 31], &[33, 1], &[33, 33]], 1),
    (&[&[9, 1, 1], &[9, 2, 1]], 1),
    (&[&[2, 3, 4, 5, 6], &[2, 3, 1, 5, 6]], 2),
];

/// Shape and that of the result.
const EXPANDS: &[(&[u32], &[u32])] = &[
    (&[], &[257]),
    (&[33, 1], &[33, 31]),
    (&[31], &[33, 31]),
    (&[1, 9, 1], &[5, 9, 7]),
    (&[2, 1, 3, 1, 5], &[2, 4, 3, 2, 5]),
];

/// Inputs of one type, and their elements as words.
struct Bench {
    bench: OpBench,
    dtype: DType,
    tensors: Vec<Tensor>,
    values: Vec<Vec<u32>>,
}

impl Bench {
    fn new(caps: &Caps, random: &mut Random, dtype: DType, shapes: &[&[u32]]) -> Self {
        let mut bench = OpBench::new(caps);
        let (mut tensors, mut values) = (Vec::new(), Vec::new());
        for shape in shapes {
            let (tensor, elements) = input(&mut bench, random, dtype, shape);
            tensors.push(tensor);
            values.push(elements);
        }
        Self { bench, dtype, tensors, values }
    }

    fn case(self, kernel_name: &'static str, name: String, y: &Tensor, expected: Vec<u32>) -> Case {
        self.bench.case(kernel_name, name, y, elements(self.dtype, expected))
    }
}

/// A tensor of random bits, or of random halves, and its elements as words.
pub fn input(bench: &mut OpBench, random: &mut Random, dtype: DType, shape: &[u32]) -> (Tensor, Vec<u32>) {
    let len = shape.iter().product::<u32>() as usize;
    if dtype == DType::F16 {
        let values = random.floats(len);
        let bits = values.iter().map(|&value| u32::from(f16_from_f32(value))).collect();
        return (bench.halves(shape, &values), bits);
    }
    let words: Vec<u32> = (0..len).map(|_| random.bits() as u32).collect();
    (bench.words(dtype, shape, &words), words)
}

/// These elements and no others.
pub fn elements(dtype: DType, expected: Vec<u32>) -> Expected {
    match dtype {
        DType::F16 => {
            let halves = expected.iter().map(|&bits| bits as u16).collect();
            Expected::Halves(halves, Tolerance { abs: 0.0, rel: 0.0 })
        }
        _ => Expected::Exact(expected),
    }
}

fn transposed(mut bench: Bench, axes: &[usize], tiled: bool) -> Case {
    let x = bench.tensors[0].clone();
    let options = TransposeOptions { axes: Some(axes.iter().map(|&axis| axis as i32).collect()) };
    let y = transpose(&mut bench.bench.tape, &x, &options).expect("the axes fit");
    let expected = reference::transpose(&bench.values[0], &x.shape, axes);
    let kernel_name = if tiled { "transpose_tiled" } else { "transpose" };
    bench.case(kernel_name, format!("{} by {axes:?}", x.describe()), &y, expected)
}

fn narrowed(mut bench: Bench, axis: usize, [start, length]: [u32; 2]) -> Case {
    let x = bench.tensors[0].clone();
    let options = NarrowOptions { axis: axis as i32, start, length };
    let y = narrow(&mut bench.bench.tape, &x, &options).expect("the part is there");
    let expected = reference::narrow(&bench.values[0], &x.shape, axis, [start as usize, length as usize]);
    bench.case("narrow", format!("{}, {length} from {start} of axis {axis}", x.describe()), &y, expected)
}

fn joined(mut bench: Bench, axis: usize) -> Case {
    let tensors = bench.tensors.clone();
    let y = concat(&mut bench.bench.tape, &tensors.iter().collect::<Vec<_>>(), &ConcatOptions { axis: axis as i32 });
    let y = y.expect("shapes fit");
    let inputs: Vec<_> = bench.values.iter().map(Vec::as_slice).zip(tensors.iter().map(|x| &x.shape[..])).collect();
    let expected = reference::concat(&inputs, axis);
    let name = format!("{} to {} along {axis}", tensors.len(), y.describe());
    bench.case("concat", name, &y, expected)
}

fn expanded(mut bench: Bench, shape: &[u32]) -> Case {
    let x = bench.tensors[0].clone();
    let y = expand(&mut bench.bench.tape, &x, &ExpandOptions { shape: shape.to_vec() }).expect("the shape fits");
    let expected = reference::expand(&bench.values[0], &x.shape, shape);
    bench.case("expand", format!("{} to {shape:?}", x.describe()), &y, expected)
}
