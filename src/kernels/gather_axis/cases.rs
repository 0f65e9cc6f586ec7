//! Elements by number along every axis, with repeated and out-of-range indices; sums back; embeddings of every storage.

use crate::gguf::{GgmlType, dequantize};
use crate::harness::{Case, Expected, OpBench, Random, Suite, Tolerance, data};
use crate::kernels::caps::Caps;
use crate::kernels::gather_axis::reference;
use crate::kernels::layout::PackedLayout;
use crate::kernels::movement::cases::{elements, input};
use crate::kernels::repack::reference::packed;
use crate::tensor::gather::{AxisOptions, embedding, scatter_add, take};
use crate::tensor::{DType, Tensor};

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("gather_axis"));
    let mut cases = Vec::new();
    for dtype in [DType::U32, DType::F16] {
        cases.extend(TAKES.iter().map(|&(shape, axis, picks)| taken(caps, random, dtype, shape, axis, picks)));
    }
    cases.push(of_floats(caps, random));
    cases.extend(SCATTERS.iter().map(|&(shape, axis, picks)| scattered(caps, random, shape, axis, picks)));
    let types = [GgmlType::Q4_0, GgmlType::Q8_0, GgmlType::Q6_K];
    cases.extend(types.map(|ty| rows_of_blocks(caps, random, ty)));
    let floats = [(DType::F32, GgmlType::F32), (DType::F16, GgmlType::F16), (DType::BF16, GgmlType::BF16)];
    cases.extend(floats.map(|(dtype, ty)| rows_of_floats(caps, random, dtype, ty)));
    cases
}

/// Shape, axis and shape of the indices.
const TAKES: &[(&[u32], usize, &[u32])] = &[
    (&[1], 0, &[1]),
    (&[33], 0, &[257]),
    (&[33, 31], 0, &[9]),
    (&[31, 257], 1, &[33]),
    (&[3, 7, 5], 1, &[2, 5]),
    (&[2, 3, 4, 5, 6], 2, &[5]),
    (&[1000, 64], 0, &[]),
];

/// The same.
const SCATTERS: &[(&[u32], usize, &[u32])] = &[
    (&[1], 0, &[1]),
    (&[1000], 0, &[1000]),
    (&[31], 0, &[257]),
    (&[33, 31], 0, &[257]),
    (&[9, 33], 1, &[31]),
    (&[3, 7, 5], 1, &[2, 5]),
    (&[2, 1, 33], 1, &[600]),
    (&[2, 33, 3], 1, &[1100]),
    (&[1000], 0, &[40_000]),
];

/// Indices, most of them below `size` and many repeated, some out of range.
fn indices(random: &mut Random, size: u32, count: u32) -> Vec<u32> {
    let mut indices: Vec<u32> = (0..count).map(|_| random.below(size)).collect();
    let hostile = [size - 1, size, u32::MAX, 0, size - 1, 1 << 31];
    indices.iter_mut().zip(hostile).for_each(|(index, hostile)| *index = hostile);
    indices
}

fn picked(bench: &mut OpBench, random: &mut Random, size: u32, shape: &[u32]) -> (Tensor, Vec<u32>) {
    let indices = indices(random, size, shape.iter().product());
    let dtype = if indices.len().is_multiple_of(2) { DType::U32 } else { DType::I32 };
    (bench.words(dtype, shape, &indices), indices)
}

fn taken(caps: &Caps, random: &mut Random, dtype: DType, shape: &[u32], axis: usize, picks: &[u32]) -> Case {
    let mut bench = OpBench::new(caps);
    let (x, values) = input(&mut bench, random, dtype, shape);
    let (tensor, indices) = picked(&mut bench, random, shape[axis], picks);
    let y = take(&mut bench.tape, &x, &tensor, &AxisOptions { axis: axis as i32 }).expect("shapes fit");
    let missing = if dtype == DType::F16 { 0x7e00 } else { u32::MAX };
    let expected = reference::gather_axis(&values, shape, axis, &indices, missing);
    let name = format!("{} of axis {axis} by {picks:?}", x.describe());
    bench.case("gather_axis", name, &y, elements(dtype, expected))
}

/// f32, where an index that is not in the axis gives NaN.
fn of_floats(caps: &Caps, random: &mut Random) -> Case {
    let mut bench = OpBench::new(caps);
    let values = random.floats(31 * 33);
    let x = bench.floats(&[31, 33], &values);
    let (tensor, indices) = picked(&mut bench, random, 33, &[17]);
    let y = take(&mut bench.tape, &x, &tensor, &AxisOptions { axis: -1 }).expect("shapes fit");
    let expected = reference::gather_axis(&values, &[31, 33], 1, &indices, f32::NAN);
    bench.case("gather_axis", "f32 with NaN", &y, Expected::Close(expected, Tolerance { abs: 0.0, rel: 0.0 }))
}

fn scattered(caps: &Caps, random: &mut Random, shape: &[u32], axis: usize, picks: &[u32]) -> Case {
    let mut bench = OpBench::new(caps);
    let base = random.floats(shape.iter().product::<u32>() as usize);
    let base_tensor = bench.floats(shape, &base);
    let (tensor, indices) = picked(&mut bench, random, shape[axis], picks);
    let values_shape = [&shape[..axis], picks, &shape[axis + 1..]].concat();
    let values = random.floats(values_shape.iter().product::<u32>() as usize);
    let values_tensor = bench.floats(&values_shape, &values);
    let options = AxisOptions { axis: axis as i32 };
    let y = scatter_add(&mut bench.tape, &base_tensor, &tensor, &values_tensor, &options).expect("shapes fit");
    let sums = reference::scatter_add(&base, shape, axis, &indices, &values);
    let expected = sums.iter().map(|&sum| sum as f32).collect();
    // Sums of up to 600 numbers.
    let tolerance = Tolerance { abs: 1e-5, rel: 1e-5 };
    let name = format!("{} by {picks:?} along {axis}", base_tensor.describe());
    bench.case("scatter_add", name, &y, Expected::Close(expected, tolerance))
}

const VOCABULARY: u32 = 33;

fn rows_of_blocks(caps: &Caps, random: &mut Random, ty: GgmlType) -> Case {
    let blocks = data::Tensor::new(random, ty, [VOCABULARY, 256], 1.0);
    let layout = PackedLayout::new(ty, VOCABULARY, 256);
    let mut bench = OpBench::new(caps);
    let weights = bench.bytes(DType::Quantised(ty), &[VOCABULARY, 256], &packed(&layout, &blocks.raw));
    rows(bench, random, ("gather", &weights), &blocks)
}

fn rows_of_floats(caps: &Caps, random: &mut Random, dtype: DType, ty: GgmlType) -> Case {
    let numbers = data::Tensor::new(random, ty, [VOCABULARY, 31], 1.0);
    let mut bench = OpBench::new(caps);
    let weights = bench.bytes(dtype, &[VOCABULARY, 31], &numbers.raw);
    rows(bench, random, ("gather_axis", &weights), &numbers)
}

/// The embedding of nine ids, some of which are no rows.
fn rows(
    mut bench: OpBench,
    random: &mut Random,
    (kernel_name, weights): (&'static str, &Tensor),
    held: &data::Tensor,
) -> Case {
    let (ids, indices) = picked(&mut bench, random, VOCABULARY, &[3, 3]);
    let y = embedding(&mut bench.tape, weights, &ids).expect("shapes fit");
    let mut values = vec![0.0; weights.len() as usize];
    dequantize(held.ty, &held.raw, &mut values).expect("whole blocks");
    let expected = reference::gather_axis(&values, &weights.shape, 0, &indices, f32::NAN);
    let name = format!("embedding of {}", weights.describe());
    bench.case(kernel_name, name, &y, Expected::Close(expected, Tolerance::READ))
}
