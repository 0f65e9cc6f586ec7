//! Odd shapes in both tiles, transposed and batched operands, every storage, every epilogue; f16 arithmetic where the
//! device has it.

use crate::gguf::{f16_from_f32, f16_to_f32};
use crate::harness::{Case, Expected, OpBench, Random, Suite, Tolerance};
use crate::kernels::caps::Caps;
use crate::kernels::mat_mul_dense::{Activation, FEW, FEW_SPEC, Precision, RULES, SPEC};
use crate::kernels::reference;
use crate::kernels::tuned::{Tuned, class_of};
use crate::tensor::matmul::{MatmulOptions, matmul};
use crate::tensor::{DType, Tensor};

/// One product.
#[derive(Debug, Clone, Copy)]
struct Kind {
    sizes: [u32; 3],
    /// Axes in front of a, of b.
    batches: [&'static [u32]; 2],
    dtypes: [DType; 2],
    transposed: [bool; 2],
    bias: bool,
    residual: bool,
    activation: Activation,
    precision: Precision,
    /// Row of the table, where another than that of [`row_for`].
    row: Option<usize>,
}

/// The row of the table for a case: the sizes for which the table takes large tiles would take a CPU long to check.
pub(crate) fn row_for(m: u32, n: u32) -> usize {
    match m {
        ..=8 => 3,
        256.. if n >= 256 => 1,
        _ => 2,
    }
}

const PLAIN: Kind = Kind {
    sizes: [1, 1, 1],
    batches: [&[], &[]],
    dtypes: [DType::F32, DType::F32],
    transposed: [false, false],
    bias: false,
    residual: false,
    activation: Activation::None,
    precision: Precision::Full,
    row: None,
};

const HALVES: [DType; 2] = [DType::F16, DType::F16];
const MIXED: [DType; 2] = [DType::F32, DType::BF16];
const WEIGHTS: [DType; 2] = [DType::F32, DType::F16];

/// Shapes that only Params tell apart share a pipeline.
const KINDS: &[Kind] = &[
    PLAIN,
    Kind { sizes: [31, 33, 257], ..PLAIN },
    Kind { sizes: [33, 31, 1], transposed: [false, true], ..PLAIN },
    Kind { sizes: [1, 1000, 33], transposed: [true, false], ..PLAIN },
    Kind { sizes: [64, 1, 31], transposed: [true, true], ..PLAIN },
    Kind { sizes: [5, 7, 16], batches: [&[2, 3], &[2, 3]], ..PLAIN },
    Kind { sizes: [33, 5, 17], batches: [&[4, 1, 2], &[3, 1]], transposed: [true, false], ..PLAIN },
    Kind { sizes: [3, 35, 15], batches: [&[], &[2, 1, 5]], transposed: [false, true], ..PLAIN },
    Kind { sizes: [7, 9, 40], batches: [&[3, 5], &[]], ..PLAIN },
    Kind { sizes: [257, 259, 33], ..PLAIN },
    Kind { sizes: [300, 257, 47], batches: [&[2], &[1]], transposed: [true, true], ..PLAIN },
    Kind { sizes: [33, 65, 129], bias: true, residual: true, activation: Activation::Silu, ..PLAIN },
    Kind { sizes: [9, 34, 31], batches: [&[3], &[3]], bias: true, activation: Activation::Relu, ..PLAIN },
    Kind { sizes: [34, 33, 100], residual: true, activation: Activation::Gelu, ..PLAIN },
    Kind { sizes: [257, 256, 19], bias: true, residual: true, activation: Activation::Gelu, ..PLAIN },
    Kind { sizes: [31, 47, 129], dtypes: HALVES, transposed: [false, true], ..PLAIN },
    Kind { sizes: [17, 33, 35], dtypes: HALVES, batches: [&[3], &[3]], transposed: [true, false], ..PLAIN },
    Kind { sizes: [33, 31, 1000], dtypes: MIXED, transposed: [false, true], bias: true, ..PLAIN },
    Kind { sizes: [31, 33, 257], dtypes: WEIGHTS, ..PLAIN },
    Kind { sizes: [257, 300, 65], dtypes: WEIGHTS, transposed: [false, true], ..PLAIN },
    Kind { sizes: [1, 257, 300], dtypes: WEIGHTS, transposed: [false, true], ..PLAIN },
    Kind { sizes: [6, 47, 100], dtypes: WEIGHTS, bias: true, residual: true, activation: Activation::Gelu, ..PLAIN },
    Kind { sizes: [33, 65, 2049], precision: Precision::Fast, transposed: [false, true], ..PLAIN },
    Kind { sizes: [257, 259, 100], dtypes: HALVES, precision: Precision::Fast, ..PLAIN },
    Kind { sizes: [70, 33, 101], row: Some(3), bias: true, ..PLAIN },
    Kind { sizes: [7, 65, 35], row: Some(1), residual: true, ..PLAIN },
    Kind { sizes: [3, 31, 17], row: Some(2), transposed: [false, true], ..PLAIN },
    Kind { sizes: [259, 257, 21], row: Some(2), ..PLAIN },
    Kind { sizes: [67, 131, 35], row: Some(0), transposed: [false, true], residual: true, ..PLAIN },
];

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("mat_mul_dense"));
    KINDS.iter().map(|kind| case(caps, random, kind)).collect()
}

/// A random tensor of values between `low` and `high`, and the numbers it holds after rounding.
fn tensor(
    bench: &mut OpBench,
    random: &mut Random,
    dtype: DType,
    shape: &[u32],
    [low, high]: [f32; 2],
) -> (Tensor, Vec<f32>) {
    let values = random.floats(shape.iter().product::<u32>() as usize);
    let values: Vec<f32> = values.iter().map(|value| low + (high - low) * (value + 1.0) / 2.0).collect();
    match dtype {
        DType::F16 => {
            let rounded = values.iter().map(|&value| f16_to_f32(f16_from_f32(value))).collect();
            (bench.halves(shape, &values), rounded)
        }
        DType::BF16 => {
            let halves: Vec<u16> = values.iter().map(|value| (value.to_bits() >> 16) as u16).collect();
            let rounded = halves.iter().map(|&half| f32::from_bits(u32::from(half) << 16)).collect();
            (bench.bytes(dtype, shape, bytemuck::cast_slice(&halves)), rounded)
        }
        _ => (bench.floats(shape, &values), values),
    }
}

fn case(caps: &Caps, random: &mut Random, kind: &Kind) -> Case {
    let &Kind { sizes: [m, n, k], batches, dtypes, transposed, .. } = kind;
    let fast = kind.precision == Precision::Fast;
    // A case that the device cannot run is made as for one that can, and names the missing feature.
    let batch = broadcast(batches);
    // One b for all of a is one tall matrix.
    let tall = batches[1].iter().all(|&n| n == 1) && !transposed[0];
    let rows = if tall { m * batch.iter().product::<u32>() } else { m };
    let row = kind.row.unwrap_or_else(|| row_for(rows, n));
    let [of_a, of_b] = dtypes.map(|dtype| dtype.name());
    let b = if transposed[1] || n == 1 { "transposed " } else { "" };
    let tuned = Tuned::of(&format!("mat_mul_dense {of_a} {of_b} {b}{n}x{k} x {}={row}", class_of(rows)));
    let mut bench = OpBench::new(&Caps { f16: fast || caps.f16, tuned, ..caps.clone() });
    let shape = |batch: &[u32], [rows, cols]: [u32; 2], transposed: bool| {
        let matrix = if transposed { [cols, rows] } else { [rows, cols] };
        [batch, &matrix].concat()
    };
    let (a_shape, b_shape) = (shape(batches[0], [m, k], transposed[0]), shape(batches[1], [k, n], transposed[1]));
    // Nothing cancels where sums are rounded to f16: the terms' rounding errors would exceed a small sum.
    let low = if fast { 0.0 } else { -1.0 };
    let high = 2.0 / (k as f32).sqrt();
    let (a, a_values) = tensor(&mut bench, random, dtypes[0], &a_shape, [low, 1.0]);
    let (b, b_values) = tensor(&mut bench, random, dtypes[1], &b_shape, [low * high, high]);
    let y_shape = [batch.as_slice(), &[m, n]].concat();
    let bias = kind.bias.then(|| tensor(&mut bench, random, DType::F32, &[n], [-1.0, 1.0]));
    let residual = kind.residual.then(|| tensor(&mut bench, random, DType::F32, &y_shape, [-1.0, 1.0]));
    let options = MatmulOptions {
        transpose_a: transposed[0],
        transpose_b: transposed[1],
        activation: kind.activation,
        precision: kind.precision,
    };
    let inputs = [&bias, &residual].map(|input| input.as_ref().map(|(tensor, _)| tensor));
    let y = matmul(&mut bench.tape, &a, &b, inputs[0], inputs[1], &options).expect("shapes fit");
    assert_eq!(y.shape, y_shape);
    let mut expected = products(kind, &batch, &a_values, &b_values);
    for (i, y) in expected.iter_mut().enumerate() {
        let bias = bias.as_ref().map_or(0.0, |(_, bias)| bias[i % n as usize]);
        let residual = residual.as_ref().map_or(0.0, |(_, residual)| residual[i]);
        *y = reference::activate(kind.activation, *y + f64::from(bias)) + f64::from(residual);
    }
    let expected = expected.into_iter().map(|y| y as f32).collect();
    // f16 has 11 bits, and a tile adds up 16 products of the order of 1.
    let tolerance = if fast { Tolerance { abs: 2e-2, rel: 4e-3 } } else { Tolerance::dot(crate::gguf::GgmlType::F32) };
    let about = if RULES[row].tile == FEW { FEW_SPEC.kernel_name } else { SPEC.kernel_name };
    let case = bench.case(about, name(kind), &y, Expected::Close(expected, tolerance));
    assert!(case.variant.contains(RULES[row].tile.name), "{} is not row {row}", case.variant);
    let flops = 2 * u64::from(m) * u64::from(n) * u64::from(k) * batch.iter().map(|&n| u64::from(n)).product::<u64>();
    // Both topologies are one kernel.
    Case { kernel_name: SPEC.kernel_name, needs: (fast && !caps.f16).then_some("shader-f16"), flops, ..case }
}

fn name(kind: &Kind) -> String {
    let Kind { sizes: [m, n, k], batches: [a, b], transposed, bias, residual, activation, row, .. } = kind;
    let row = row.map_or(String::new(), |row| format!(", row {row} of the table"));
    let [ta, tb] = transposed.map(|transposed| if transposed { "'" } else { "" });
    format!("{a:?} {m}x{k}{ta} by {b:?} {k}x{n}{tb}, bias {bias}, {activation:?}, residual {residual}{row}")
}

/// The batch axes of y.
fn broadcast([a, b]: [&[u32]; 2]) -> Vec<u32> {
    let rank = a.len().max(b.len());
    let axis = |batch: &[u32], i: usize| (i + batch.len()).checked_sub(rank).map_or(1, |i| batch[i]);
    (0..rank).map(|i| axis(a, i).max(axis(b, i))).collect()
}

/// The plain products of all batches.
fn products(kind: &Kind, batch: &[u32], a: &[f32], b: &[f32]) -> Vec<f64> {
    let [m, n, k] = kind.sizes.map(|size| size as usize);
    let count: u32 = batch.iter().product();
    let mut y = Vec::new();
    for z in 0..count {
        let a = &a[index(batch, kind.batches[0], z) * m * k..];
        let b = &b[index(batch, kind.batches[1], z) * k * n..];
        let a = |i: usize, c: usize| if kind.transposed[0] { a[c * m + i] } else { a[i * k + c] };
        let b = |c: usize, j: usize| if kind.transposed[1] { b[j * k + c] } else { b[c * n + j] };
        y.extend(reference::mat_mul_dense([m, n, k], a, b));
    }
    y
}

/// Which matrix of an operand with the axes `own` product `z` of the axes `batch` takes.
fn index(batch: &[u32], own: &[u32], mut z: u32) -> usize {
    let (mut index, mut stride) = (0, 1);
    for (i, &size) in batch.iter().enumerate().rev() {
        let coordinate = z % size;
        z /= size;
        if let Some(own_axis) = (i + own.len()).checked_sub(batch.len()) {
            index += if own[own_axis] == 1 { 0 } else { coordinate * stride };
            stride *= own[own_axis];
        }
    }
    index as usize
}
