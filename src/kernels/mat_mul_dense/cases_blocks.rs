//! Products of tensors with matrices in blocks that are read row by row: every type, in tiles of each size, with rows
//! that fill no tile and columns that fill only half of one, and every epilogue.

use crate::gguf::{GgmlType, dequantize, f16_from_f32, f16_to_f32};
use crate::harness::data::Tensor as Blocks;
use crate::harness::{Case, Expected, OpBench, Random, Suite, Tolerance};
use crate::kernels::caps::Caps;
use crate::kernels::mat_mul_dense::cases::row_for;
use crate::kernels::mat_mul_dense::{Activation, FEW, FEW_SPEC, Precision, RULES, SPEC};
use crate::kernels::reference;
use crate::kernels::tuned::{Tuned, class_of};
use crate::tensor::DType;
use crate::tensor::matmul::{MatmulOptions, matmul};
use crate::tensor::quantised::{QuantisedOptions, from_blocks};

/// One product.
#[derive(Debug, Clone, Copy)]
struct Kind {
    ty: GgmlType,
    /// Axes before the last of a.
    axes: &'static [u32],
    /// Rows of W, and columns in blocks of this type.
    size: [u32; 2],
    /// a is f16.
    half: bool,
    /// Bias and residual.
    added: [bool; 2],
    activation: Activation,
    precision: Precision,
    /// In the first row of the table.
    wide: bool,
}

const PLAIN: Kind = Kind {
    ty: GgmlType::Q4_0,
    axes: &[1],
    size: [1, 1],
    half: false,
    added: [false, false],
    activation: Activation::None,
    precision: Precision::Full,
    wide: false,
};

/// Rows of a with the rows of W and its columns in blocks of 32: every topology, columns of one and of an odd number of
/// blocks. A type with larger blocks has as many of its own.
const SHAPES: [(&[u32], [u32; 2]); 3] = [(&[5], [35, 3]), (&[33], [47, 1]), (&[3, 86], [19, 9])];

const KINDS: &[Kind] = &[
    Kind { axes: &[2, 4], size: [1, 1], added: [true, true], activation: Activation::Gelu, ..PLAIN },
    Kind { axes: &[9], size: [129, 3], added: [true, true], activation: Activation::Silu, ..PLAIN },
    Kind { ty: GgmlType::Q6_K, axes: &[2, 3, 5], size: [33, 1], half: true, added: [false, true], ..PLAIN },
    Kind { ty: GgmlType::Q8_0, axes: &[257], size: [1000, 9], half: true, added: [true, false], ..PLAIN },
    Kind { axes: &[65], size: [2049, 3], precision: Precision::Fast, ..PLAIN },
    Kind { axes: &[67], size: [47, 3], added: [true, true], wide: true, ..PLAIN },
    Kind { ty: GgmlType::Q4_K, axes: &[2, 33], size: [129, 1], half: true, wide: true, ..PLAIN },
];

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("mat_mul_blocks"));
    let types = GgmlType::ALL.into_iter().filter(|ty| ty.is_quantised()).enumerate();
    let kinds = types.map(|(i, ty)| {
        let (axes, size) = SHAPES[i % SHAPES.len()];
        Kind { ty, axes, size, ..PLAIN }
    });
    kinds.chain(KINDS.iter().copied()).map(|kind| case(caps, random, &kind)).collect()
}

fn case(caps: &Caps, random: &mut Random, kind: &Kind) -> Case {
    let &Kind { ty, axes, size: [k, blocks], half, added, activation, precision, wide } = kind;
    let (m, n) = (axes.iter().product::<u32>(), blocks * ty.block_len() as u32);
    let fast = precision == Precision::Fast;
    // A case that the device cannot run is made as for one that can, and names the missing feature.
    let (row, of_a) = (if wide { 0 } else { row_for(m, n) }, if half { "f16" } else { "f32" });
    let tuned = Tuned::of(&format!("mat_mul_dense {of_a} {} {n}x{k} x {}={row}", ty.key(), class_of(m)));
    let mut bench = OpBench::new(&Caps { f16: fast || caps.f16, tuned, ..caps.clone() });
    let w = Blocks::new(random, ty, [k, n], 2.0 / (k as f32).sqrt());
    let mut weights = vec![0.0; (k * n) as usize];
    dequantize(ty, &w.raw, &mut weights).expect("whole blocks");
    let mut raw = w.raw;
    raw.resize(raw.len().next_multiple_of(4), 0);
    let raw = bench.bytes(DType::U32, &[raw.len() as u32 / 4], &raw);
    let options = QuantisedOptions { dtype: DType::Quantised(ty).name(), shape: vec![k, n] };
    let packed = from_blocks(&mut bench.tape, &raw, &options).expect("the bytes fit");
    let mut values = random.floats((m * k) as usize);
    let shape = [axes, &[k]].concat();
    let a = if half { bench.halves(&shape, &values) } else { bench.floats(&shape, &values) };
    if half {
        values.iter_mut().for_each(|value| *value = f16_to_f32(f16_from_f32(*value)));
    }
    let mut floats = |shape: &[u32]| {
        let values = random.floats(shape.iter().product::<u32>() as usize);
        (bench.floats(shape, &values), values)
    };
    let bias = added[0].then(|| floats(&[n]));
    let residual = added[1].then(|| floats(&[axes, &[n]].concat()));
    let inputs = [&bias, &residual].map(|input| input.as_ref().map(|(tensor, _)| tensor));
    let options = MatmulOptions { activation, precision, ..MatmulOptions::default() };
    let y = matmul(&mut bench.tape, &a, &packed, inputs[0], inputs[1], &options).expect("shapes fit");
    let [rows, columns, steps] = [m, n, k].map(|size| size as usize);
    let at = (|i: usize, c: usize| values[i * steps + c], |c: usize, j: usize| weights[c * columns + j]);
    let mut expected = reference::mat_mul_dense([rows, columns, steps], at.0, at.1);
    for (i, y) in expected.iter_mut().enumerate() {
        let bias = bias.as_ref().map_or(0.0, |(_, bias)| bias[i % columns]);
        let residual = residual.as_ref().map_or(0.0, |(_, residual)| residual[i]);
        *y = reference::activate(activation, *y + f64::from(bias)) + f64::from(residual);
    }
    let expected = expected.into_iter().map(|y| y as f32).collect();
    let tolerance = if fast { Tolerance { abs: 2e-2, rel: 4e-3 } } else { Tolerance::dot(ty) };
    let about = if RULES[row].tile == FEW { FEW_SPEC.kernel_name } else { SPEC.kernel_name };
    let name = format!("{axes:?} rows of {k} times {k} rows of {n} in blocks, {added:?}, {activation:?}");
    let case = bench.case(about, name, &y, Expected::Close(expected, tolerance));
    assert!(case.variant.contains(RULES[row].tile.name), "{} is not row {row}", case.variant);
    let flops = 2 * u64::from(m) * u64::from(n) * u64::from(k);
    Case { kernel_name: SPEC.kernel_name, needs: (fast && !caps.f16).then_some("shader-f16"), flops, ..case }
}
