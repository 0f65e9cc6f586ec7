//! Products of tensors with matrices in blocks: from the bytes of a file, packed on the device, by `mat_vec` and
//! by `mat_mul`. `repack`, `mat_vec` and `mat_mul` have their own cases; these test their combination.

use super::data::Tensor as Blocks;
use super::{Case, Expected, OpBench, Random, Suite, Tolerance};
use crate::gguf::GgmlType;
use crate::kernels::caps::Caps;
use crate::kernels::mat_mul_dense::Activation;
use crate::kernels::reference;
use crate::tensor::DType;
use crate::tensor::matmul::{MatmulOptions, matmul};
use crate::tensor::quantised::{QuantisedOptions, from_blocks};

type Kind = (GgmlType, &'static [u32], [u32; 2], [bool; 2], Activation);

/// (type, axes before the last of x, rows and columns of W, bias and residual, activation)
const KINDS: &[Kind] = &[
    (GgmlType::Q4_0, &[1], [33, 32], [false, false], Activation::None),
    (GgmlType::Q8_0, &[3], [31, 96], [true, false], Activation::None),
    (GgmlType::Q5_1, &[2, 4], [5, 32], [false, true], Activation::None),
    (GgmlType::Q8_0, &[9], [33, 96], [false, true], Activation::Gelu),
    (GgmlType::Q6_K, &[3, 11], [31, 256], [true, false], Activation::None),
    (GgmlType::Q3_K, &[5], [35, 512], [true, false], Activation::Relu),
    (GgmlType::Q4_K, &[33], [257, 256], [false, false], Activation::None),
    (GgmlType::IQ3_S, &[1], [33, 512], [true, false], Activation::None),
    (GgmlType::IQ1_M, &[10], [31, 256], [false, false], Activation::None),
];

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("quantised"));
    KINDS
        .iter()
        .map(|&(ty, axes, size, added, activation)| {
            let w = Blocks::new(random, ty, size, 2.0 / (size[1] as f32).sqrt());
            case(caps, random, &w, axes, (added, activation))
        })
        .collect()
}

fn case(
    caps: &Caps,
    random: &mut Random,
    w: &Blocks,
    axes: &[u32],
    ([bias, residual], activation): ([bool; 2], Activation),
) -> Case {
    let &Blocks { ty, rows, cols, .. } = w;
    let mut bench = OpBench::new(caps);
    let mut raw = w.raw.clone();
    raw.resize(raw.len().next_multiple_of(4), 0);
    let blocks = bench.bytes(DType::U32, &[raw.len() as u32 / 4], &raw);
    let m: u32 = axes.iter().product();
    let mut floats = |bench: &mut OpBench, shape: &[u32]| {
        let values = random.floats(shape.iter().product::<u32>() as usize);
        (bench.floats(shape, &values), values)
    };
    let (x, values) = floats(&mut bench, &[axes, &[cols]].concat());
    let bias = bias.then(|| floats(&mut bench, &[rows]));
    let residual = residual.then(|| floats(&mut bench, &[axes, &[rows]].concat()));
    let options = QuantisedOptions { dtype: DType::Quantised(ty).name(), shape: vec![rows, cols] };
    let packed = from_blocks(&mut bench.tape, &blocks, &options).expect("the bytes fit");
    let options = MatmulOptions { transpose_b: true, activation, ..MatmulOptions::default() };
    let [with_bias, with_residual] = [&bias, &residual].map(|input| input.as_ref().map(|(tensor, _)| tensor));
    let y = matmul(&mut bench.tape, &x, &packed, with_bias, with_residual, &options).expect("shapes fit");
    let mut expected = vec![0.0; (m * rows) as usize];
    reference::mat_mul(&w.reference(), &values, &mut expected).expect("the matrix is whole");
    for (i, y) in expected.iter_mut().enumerate() {
        let bias = bias.as_ref().map_or(0.0, |(_, bias)| bias[i % rows as usize]);
        let residual = residual.as_ref().map_or(0.0, |(_, residual)| residual[i]);
        *y = reference::activate(activation, f64::from(*y + bias)) as f32 + residual;
    }
    let kernel_name = if m > crate::tensor::quantised::MAX_VECTORS { "mat_mul" } else { "mat_vec" };
    let name = format!(
        "{axes:?} rows of {cols} times blocks of {rows} rows, bias {}, {activation:?}, residual {}",
        bias.is_some(),
        residual.is_some()
    );
    // Few rows of W are split over whole workgroups, which is another kernel, and so are several columns.
    let about = match m {
        1 => "mat_vec_split",
        2..=crate::tensor::quantised::MAX_VECTORS => "mat_vec_columns",
        _ => kernel_name,
    };
    let case = bench.case(about, name, &y, Expected::Close(expected, Tolerance::dot(ty)));
    Case { kernel_name, flops: 2 * u64::from(m) * u64::from(rows) * u64::from(cols), ..case }
}
