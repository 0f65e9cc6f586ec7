use webgguf::kernels::reference::{self, NormShape, ScoreShape};
use webgguf::{ArgmaxOptions, CumsumOptions, NormInputs, NormOptions, ReduceOp, ReduceOptions, SoftmaxOptions};

use crate::bench::{Bench, check};

pub async fn softmax() {
    let mut bench = Bench::new(21).await;
    let ((x, values), (mask, mask_values)) = (bench.floats([2, 5, 7]), bench.floats([5, 7]));
    let plain = ScoreShape { width: 7, causal_rows: None, scale: 1.0, soft_cap: None };
    check("softmax", &x.softmax().unwrap(), &[2, 5, 7], reference::softmax_rows(&values, &plain, |_, _| 0.0)).await;
    let options = SoftmaxOptions { scale: Some(3.0), causal: true, soft_cap: Some(2.0) };
    let shape = ScoreShape { width: 7, causal_rows: Some(5), scale: 3.0, soft_cap: Some(2.0) };
    let expected = reference::softmax_rows(&values, &shape, |row, i| mask_values[row % 5 * 7 + i]);
    check("softmax with a mask", &x.softmax_with(Some(&mask), &options).unwrap(), &[2, 5, 7], expected).await;
}

pub async fn norms() {
    let mut bench = Bench::new(22).await;
    let ((x, values), (residual, residual_values)) = (bench.floats([3, 13]), bench.floats([3, 13]));
    let ((weight, weights), (bias, biases)) = (bench.floats([13]), bench.floats([13]));
    let shape =
        NormShape { width: 13, centred: false, eps: 1e-5, weight: Some(&weights), weight_offset: 0.0, bias: None };
    check("rms_norm", &x.rms_norm(&weight).unwrap(), &[3, 13], reference::layer_norm(&values, &shape)).await;
    let centred = NormShape { centred: true, bias: Some(&biases), ..shape };
    let expected = reference::layer_norm(&values, &centred);
    check("layer_norm", &x.layer_norm(&weight, &bias).unwrap(), &[3, 13], expected).await;
    let sums: Vec<f32> = values.iter().zip(&residual_values).map(|(x, residual)| x + residual).collect();
    let inputs = NormInputs { weight: Some(&weight), bias: Some(&bias), residual: Some(&residual) };
    let options = NormOptions { eps: Some(0.5), weight_offset: 1.0, sum: true };
    for is_centred in [false, true] {
        let shape = NormShape { centred: is_centred, bias: Some(&biases), eps: 0.5, weight_offset: 1.0, ..shape };
        let made = if is_centred { x.layer_norm_with(&inputs, &options) } else { x.rms_norm_with(&inputs, &options) };
        let (y, sum) = made.unwrap();
        check("norm of a sum", &y, &[3, 13], reference::layer_norm(&sums, &shape)).await;
        check("the sum", &sum.expect("asked for"), &[3, 13], sums.clone()).await;
    }
    assert!(x.rms_norm_with(&NormInputs::default(), &NormOptions::default()).unwrap().1.is_none());
}

pub async fn reductions() {
    let mut bench = Bench::new(23).await;
    let (x, values) = bench.floats([3, 5, 7]);
    let add = |a: f64, b: f64| a + b;
    let along = [3, 5, 7];
    check("sum", &x.sum(Some(1)).unwrap(), &[3, 7], reference::reduce(&values, along, 0.0, add)).await;
    let means = reference::reduce(&values, along, 0.0, add).into_iter().map(|sum| sum / 5.0);
    check("mean", &x.mean(Some(-2)).unwrap(), &[3, 7], means).await;
    let products = reference::reduce(&values, along, 1.0, |a, b| a * b);
    check("product", &x.product(Some(1)).unwrap(), &[3, 7], products).await;
    let largest = reference::reduce(&values, along, f64::NEG_INFINITY, f64::max);
    check("max", &x.max(Some(1)).unwrap(), &[3, 7], largest).await;
    let whole = reference::reduce(&values, [1, 105, 1], f64::INFINITY, f64::min);
    check("min", &x.min(None).unwrap(), &[], whole.clone()).await;
    let kept = ReduceOptions { op: ReduceOp::Min, axis: None, keep_dims: true };
    check("min that keeps axes", &x.reduce(&kept).unwrap(), &[1, 1, 1], whole).await;
}

pub async fn largest() {
    let mut bench = Bench::new(24).await;
    let (x, values) = bench.floats([3, 11]);
    let found = x.argmax(&ArgmaxOptions { axis: Some(1), keep_dims: false }).unwrap();
    assert_eq!(found.read_as::<u32>().await.unwrap(), reference::argmax_axis(&values, [3, 11, 1]));
    let (top, places) = x.top_k(4).unwrap();
    let (expected, expected_places) = reference::top_k(&values, 11, 4);
    check("top_k", &top, &[3, 4], expected).await;
    assert_eq!(places.read_as::<u32>().await.unwrap(), expected_places);
}

pub async fn running_sums() {
    let mut bench = Bench::new(25).await;
    let (x, values) = bench.floats([3, 5, 7]);
    let sums = x.cumsum(&CumsumOptions::default()).unwrap();
    check("cumsum", &sums, &[3, 5, 7], reference::cumsum(&values, [15, 7, 1], false)).await;
    let sums = x.cumsum(&CumsumOptions { axis: Some(0), exclusive: true }).unwrap();
    check("exclusive cumsum", &sums, &[3, 5, 7], reference::cumsum(&values, [1, 3, 35], true)).await;
}
