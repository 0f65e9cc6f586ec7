//! Products of tensors with matrices in blocks: from the bytes of a file, packed on the device, in columns and in
//! tiles. `repack`, `mat_vec` and `mat_mul` have their own cases; these are about what joins them.

use super::data::Tensor;
use super::{Case, Expected, OpBench, Random, Tolerance};
use crate::gguf::GgmlType;
use crate::kernels::caps::Caps;
use crate::reference;
use crate::tensor::DType;
use crate::tensor::matmul::{MatmulOptions, matmul};
use crate::tensor::quantised::{QuantisedOptions, from_blocks};

/// (type, axes before the last of x, rows of W, columns of W, bias)
const KINDS: &[(GgmlType, &[u32], u32, u32, bool)] = &[
    (GgmlType::Q4_0, &[1], 33, 32, false),
    (GgmlType::Q8_0, &[3], 31, 96, true),
    (GgmlType::Q5_1, &[2, 4], 5, 32, false),
    (GgmlType::Q8_0, &[9], 33, 96, false),
    (GgmlType::Q6_K, &[3, 11], 31, 256, true),
    (GgmlType::Q3_K, &[5], 35, 512, true),
    (GgmlType::Q4_K, &[33], 257, 256, false),
];

pub fn cases(caps: &Caps, random: &mut Random) -> Vec<Case> {
    KINDS.iter().map(|&(ty, axes, rows, cols, bias)| case(caps, random, (ty, rows, cols), axes, bias)).collect()
}

fn case(caps: &Caps, random: &mut Random, (ty, rows, cols): (GgmlType, u32, u32), axes: &[u32], bias: bool) -> Case {
    let mut bench = OpBench::new(caps);
    let w = Tensor::new(random, ty, [rows, cols], 2.0 / (cols as f32).sqrt());
    let mut raw = w.raw.clone();
    raw.resize(raw.len().next_multiple_of(4), 0);
    let blocks = bench.bytes(DType::U32, &[raw.len() as u32 / 4], &raw);
    let m: u32 = axes.iter().product();
    let values = random.floats((m * cols) as usize);
    let x = bench.floats(&[axes, &[cols]].concat(), &values);
    let bias_values = random.floats(rows as usize);
    let bias = bias.then(|| bench.floats(&[rows], &bias_values));
    let options = QuantisedOptions { dtype: DType::Quantised(ty).name(), shape: vec![rows, cols] };
    let packed = from_blocks(&mut bench.tape, &blocks, &options).expect("the bytes fit");
    let options = MatmulOptions { transpose_b: true, ..MatmulOptions::default() };
    let y = matmul(&mut bench.tape, &x, &packed, bias.as_ref(), None, &options).expect("shapes fit");
    let mut expected = vec![0.0; (m * rows) as usize];
    reference::mat_mul(&w.reference(), &values, &mut expected).expect("the matrix is whole");
    if bias.is_some() {
        expected.iter_mut().enumerate().for_each(|(i, y)| *y += bias_values[i % rows as usize]);
    }
    let stem = if m > crate::tensor::quantised::MAX_VECTORS { "mat_mul" } else { "mat_vec" };
    let name = format!("{axes:?} rows of {cols} times blocks of {rows} rows, bias {}", bias.is_some());
    let output = y.clone();
    // Few rows of W are shared by whole workgroups, under a stem of its own.
    let about = if stem == "mat_vec" { "mat_vec_split" } else { stem };
    let case = bench.case(about, name, &output, Expected::Close(expected, Tolerance::dot(ty)));
    Case { stem, flops: 2 * u64::from(m) * u64::from(rows) * u64::from(cols), ..case }
}
