use webgguf::harness::Tolerance;
use webgguf::kernels::gather_axis::reference as gather_axis;
use webgguf::kernels::movement::reference as movement;
use webgguf::{DType, Tensor};

use crate::bench::{Bench, check, check_within};

pub async fn axes() {
    let mut bench = Bench::new(31).await;
    let (x, values) = bench.floats([3, 5, 7]);
    let turned = movement::transpose(&values, &[3, 5, 7], &[0, 2, 1]);
    check("transpose", &x.transpose().unwrap(), &[3, 7, 5], turned).await;
    let turned = movement::transpose(&values, &[3, 5, 7], &[2, 0, 1]);
    check("transpose_axes", &x.transpose_axes(&[-1, 0, 1]).unwrap(), &[7, 3, 5], turned).await;
    check("reshape", &x.reshape([21, 5]).unwrap(), &[21, 5], values).await;
    let (row, values) = bench.floats([5, 1]);
    let expected = movement::expand(&values, &[5, 1], &[2, 5, 3]);
    check("expand", &row.expand([2, 5, 3]).unwrap(), &[2, 5, 3], expected).await;
}

pub async fn pieces() {
    let mut bench = Bench::new(32).await;
    let ((a, a_values), (b, b_values)) = (bench.floats([3, 5]), bench.floats([3, 2]));
    let kept = movement::narrow(&a_values, &[3, 5], 1, [2, 3]);
    check("narrow", &a.narrow(-1, 2, 3).unwrap(), &[3, 3], kept).await;
    let joined = movement::concat(&[(&a_values[..], &[3, 5][..]), (&b_values[..], &[3, 2][..])], 1);
    check("concat", &Tensor::concat(&[&a, &b], 1).unwrap(), &[3, 7], joined).await;
}

pub async fn indices() {
    let mut bench = Bench::new(33).await;
    let ((x, x_values), (ids, id_values)) = (bench.floats([3, 5, 2]), bench.ids([2, 4], 6));
    let expected = gather_axis::gather_axis(&x_values, &[3, 5, 2], 1, &id_values, f32::NAN);
    check("gather", &x.gather(&ids, 1).unwrap(), &[3, 2, 4, 2], expected).await;
    let (values, numbers) = bench.floats([3, 2, 4, 2]);
    let expected = gather_axis::scatter_add(&x_values, &[3, 5, 2], 1, &id_values, &numbers);
    check("scatter_add", &x.scatter_add(&ids, &values, 1).unwrap(), &[3, 5, 2], expected).await;
    let table = x.reshape([15, 2]).unwrap().cast(DType::BF16).unwrap();
    let rounded = table.read().await.unwrap();
    let expected = gather_axis::gather_axis(&rounded, &[15, 2], 0, &id_values, f32::NAN);
    check("embedding", &table.embedding(&ids).unwrap(), &[2, 4, 2], expected).await;
}

/// Random indices, every other one outside, and equal ones. Sums are whole numbers, so exact.
pub async fn many_indices() {
    const COUNT: u32 = 200_000;
    let bench = Bench::new(34).await;
    let numbers: Vec<f32> = (0..COUNT).map(|i| (i % 9) as f32).collect();
    let values = bench.device.tensor([COUNT], &numbers).unwrap();
    let zeros = bench.device.zeros(DType::F32, [500]).unwrap();
    for (name, step) in [("random indices", 0x9e37_79b9), ("equal indices", 0)] {
        let picked: Vec<u32> = (0..COUNT).map(|i| i.wrapping_mul(step) % 1000).collect();
        let indices = bench.device.tensor([COUNT], &picked).unwrap();
        let expected = gather_axis::scatter_add(&[0.0; 500], &[500], 0, &picked, &numbers);
        let exact = Tolerance { abs: 0.0, rel: 0.0 };
        check_within(name, exact, &zeros.scatter_add(&indices, &values, 0).unwrap(), &[500], expected).await;
    }
}
