use webgguf::gguf::f16_from_f32;
use webgguf::harness::Tolerance;
use webgguf::kernels::reference;
use webgguf::{Activation, DType, Gate, GateUpOptions, GatedOptions, GgmlType, MatmulOptions, ProjectOptions, Tensor};

use crate::bench::{Bench, check, check_within};

/// a `[m, k]` times the transpose of w `[n, k]`.
fn product(a: &[f32], w: &[f32], [m, n, k]: [usize; 3]) -> Vec<f64> {
    reference::mat_mul_dense([m, n, k], |i, c| a[i * k + c], |c, j| w[j * k + c])
}

fn normed(x: &[f32], weight: &[f32]) -> Vec<f32> {
    let mut x = x.to_vec();
    reference::rms_norm(&mut x, weight, 1e-5);
    x
}

pub async fn products() {
    let mut bench = Bench::new(11).await;
    let ((a, a_values), (b, b_values)) = (bench.floats([2, 5, 33]), bench.floats([33, 7]));
    let plain = reference::mat_mul_dense([10, 7, 33], |i, c| a_values[i * 33 + c], |c, j| b_values[c * 7 + j]);
    check("matmul", &a.matmul(&b).unwrap(), &[2, 5, 7], plain).await;
    let ((w, w_values), (bias, bias_values)) = (bench.floats([7, 33]), bench.floats([7]));
    let (residual, residual_values) = bench.floats([2, 5, 7]);
    let options = MatmulOptions { transpose_b: true, activation: Activation::Gelu, ..Default::default() };
    let sums = product(&a_values, &w_values, [10, 7, 33]);
    let expected = sums.iter().enumerate().map(|(i, sum)| {
        reference::activate(Activation::Gelu, sum + f64::from(bias_values[i % 7])) + f64::from(residual_values[i])
    });
    let y = a.matmul_with(&w, Some(&bias), Some(&residual), &options).unwrap();
    check("matmul with bias and residual", &y, &[2, 5, 7], expected).await;
}

/// Blocks of Q8_0: a scale in f16 and 32 numbers of 8 bits; and the numbers that they stand for.
fn q8_0(bench: &mut Bench, blocks: usize) -> (Vec<u8>, Vec<f32>) {
    const SCALE: f32 = 1.0 / 128.0;
    let (mut bytes, mut values) = (Vec::new(), Vec::new());
    for _ in 0..blocks {
        let quants = bench.random.bytes(32);
        values.extend(quants.iter().map(|&byte| f32::from(byte as i8) * SCALE));
        bytes.extend(f16_from_f32(SCALE).to_le_bytes());
        bytes.extend(quants);
    }
    (bytes, values)
}

pub async fn products_with_blocks() {
    let mut bench = Bench::new(12).await;
    let (bytes, w_values) = q8_0(&mut bench, 9 * 3);
    let w = bench.device.tensor_from_bytes(DType::Quantised(GgmlType::Q8_0), [9, 96], &bytes).unwrap();
    let tolerance = Tolerance::dot(GgmlType::Q8_0);
    for rows in [3, 17] {
        let (x, x_values) = bench.floats([rows, 96]);
        let options = MatmulOptions { transpose_b: true, ..Default::default() };
        let expected = product(&x_values, &w_values, [rows as usize, 9, 96]);
        let y = x.matmul_with(&w, None, None, &options).unwrap();
        check_within("matmul with blocks", tolerance, &y, &[rows, 9], expected).await;
    }
    let (x, x_values) = bench.floats([17, 9]);
    let plain = reference::mat_mul_dense([17, 96, 9], |i, c| x_values[i * 9 + c], |c, j| w_values[c * 96 + j]);
    check_within("matmul with rows of blocks", tolerance, &x.matmul(&w).unwrap(), &[17, 96], plain).await;
    let ids = bench.device.tensor([3], &[8u32, 0, 9]).unwrap();
    let expected: Vec<f32> = [&w_values[8 * 96..], &w_values[..96], &[f32::NAN; 96]].concat();
    check("embedding", &w.embedding(&ids).unwrap(), &[3, 96], expected).await;
    let missing = bench.device.tensor_from_bytes(DType::Quantised(GgmlType::Q8_0), [9, 96], &bytes[..900]);
    let message = missing.unwrap_err().message().to_owned();
    assert_eq!(message, "quantised: [9, 96] q8_0 takes 230 u32, raw is [225] u32");
}

pub async fn gated_products() {
    let mut bench = Bench::new(13).await;
    let ((x, x_values), (norm, norm_values)) = (bench.floats([5, 31]), bench.floats([31]));
    let ((w, w_values), (bias, bias_values)) = (bench.floats([6, 31]), bench.floats([6]));
    let sums = product(&normed(&x_values, &norm_values), &w_values, [5, 6, 31]);
    let with_bias = sums.iter().enumerate().map(|(i, sum)| sum + f64::from(bias_values[i % 6]));
    let y = x.project(&w, Some(&norm), Some(&bias), &ProjectOptions::default()).unwrap();
    check("project", &y, &[5, 6], with_bias).await;
    let gates = |sums: &[f64], activation: Activation| -> Vec<f64> {
        sums.chunks(6).flat_map(|row| (0..3).map(|j| reference::activate(activation, row[j]) * row[3 + j])).collect()
    };
    let gates = |sums: &[f64], activation| gates(sums, activation);
    let y = x.gate_up(&w, Some(&norm), &GateUpOptions::default()).unwrap();
    check("gate_up", &y, &[5, 3], gates(&sums, Activation::Silu)).await;
    let both = x.matmul_with(&w, None, None, &MatmulOptions { transpose_b: true, ..Default::default() }).unwrap();
    let sums = product(&x_values, &w_values, [5, 6, 31]);
    let y = both.gated(&GatedOptions { activation: Gate::GeGlu }).unwrap();
    check("gated", &y, &[5, 3], gates(&sums, Activation::Gelu)).await;
}

pub async fn products_of_experts() {
    let mut bench = Bench::new(14).await;
    let ((x, x_values), (w, w_values)) = (bench.floats([5, 17]), bench.floats([3, 7, 17]));
    let ((ids, id_values), (weights, weight_values)) = (bench.ids([5, 2], 4), bench.floats([5, 2]));
    let (row, weight) = (|i: usize, c: usize| x_values[i / 2 * 17 + c], |e, j, c| w_values[(e * 7 + j) * 17 + c]);
    let each = reference::mat_mul_grouped([7, 17, 3], &id_values, row, weight);
    check("matmul_grouped", &x.matmul_grouped(&w, &ids, None).unwrap(), &[5, 2, 7], each.clone()).await;
    let sums = reference::expert_sum(2, &weight_values, &each);
    let y: Tensor = x.matmul_grouped(&w, &ids, Some(&weights)).unwrap();
    check("matmul_grouped with weights", &y, &[5, 7], sums).await;
}
