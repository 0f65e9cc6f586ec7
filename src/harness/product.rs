//! Cases of the products of a pass: their epilogue inputs, and what must come out.

use super::data::Tensor;
use super::{Bench, Case, Expected, Random, Tolerance};
use crate::gguf::GgmlType;
use crate::kernels::mat_mul::{ALL_ROWS, MatMul};
use crate::kernels::mat_vec::Epilogue;
use crate::kernels::reference;
use crate::kernels::spec::{Dispatch, Slice};

/// The epilogue inputs and sizes of a case.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub rows: u32,
    pub tokens: u32,
    pub bias: bool,
    pub epilogue: Epilogue,
    /// Row at which the matrix is cut in two.
    pub cut: Option<u32>,
    /// Elements of a row of y that the product must leave alone.
    pub beside: u32,
}

/// The activations of a product.
#[derive(Debug, Clone, Copy)]
pub struct Activations<'a> {
    /// `[tokens, cols]`: their values.
    pub values: &'a [f32],
    /// Their buffer and stride, for kernels that take them as f32; unused by the others.
    pub x: Option<(Slice, u32)>,
}

/// The product of a random matrix of `cols` columns with activations that `multiply` takes from `bench`.
pub fn product(
    random: &mut Random,
    mut bench: Bench,
    (ty, cols): (GgmlType, u32),
    kind: Kind,
    activations: Activations,
    tolerance: Tolerance,
    multiply: impl FnOnce((Slice, Slice), &MatMul) -> Vec<Dispatch>,
) -> Case {
    let Kind { rows, tokens, bias: with_bias, epilogue, cut, beside } = kind;
    let tensor = Tensor::new(random, ty, [rows, cols], 2.0 / (cols as f32).sqrt());
    let starts: Vec<u32> = [0].into_iter().chain(cut).collect();
    let weights = tensor.upload(&mut bench, &starts);
    let bias = with_bias.then(|| random.floats(rows as usize));
    let (y_stride, y_offset) = (rows + beside, beside / 2);
    // One row more than the pass has tokens: it must stay as it is.
    let mut expected = random.floats((y_stride * (tokens + 1)) as usize);
    let y = bench.floats(&expected);
    let bias_slice = bias.as_ref().map(|bias| bench.floats(bias).into());
    let (pass, dummy) = bench.fixed();
    let (x, x_stride) = activations.x.unwrap_or((dummy, cols));
    let problem = MatMul {
        x_rows: ALL_ROWS,
        weights: &weights,
        x,
        x_stride,
        bias: bias_slice,
        epilogue,
        y: y.into(),
        y_stride,
        y_offset,
    };
    let dispatches = multiply((pass, dummy), &problem);
    let mut sums = vec![0.0; (rows * tokens) as usize];
    reference::mat_mul(&tensor.reference(), activations.values, &mut sums).expect("the matrix is whole");
    for (sums, y) in sums.chunks_exact(rows as usize).zip(expected.chunks_exact_mut(y_stride as usize)) {
        for (r, (sum, y)) in sums.iter().zip(&mut y[y_offset as usize..]).enumerate() {
            let sum = sum + bias.as_ref().map_or(0.0, |bias| bias[r]);
            *y = if epilogue == Epilogue::Residual { *y + sum } else { sum };
        }
    }
    let name = format!("{rows}x{cols} for {tokens} tokens {epilogue:?} bias {with_bias} in {} shards", starts.len());
    let case = bench.case(name, dispatches, y, Expected::Close(expected, tolerance));
    Case { flops: 2 * u64::from(rows) * u64::from(cols) * u64::from(tokens), ..case }
}
