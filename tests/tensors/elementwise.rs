use webgguf::kernels::elementwise::{Arg, Op, Step};
use webgguf::kernels::reference;
use webgguf::{DType, Expression, Result, Tensor};

use crate::bench::{Bench, check};

pub async fn operations_of_one_argument() {
    type Call = fn(&Tensor) -> Result<Tensor>;
    let calls: [(Op, Call); 15] = [
        (Op::Copy, Tensor::copy),
        (Op::Neg, Tensor::neg),
        (Op::Abs, Tensor::abs),
        (Op::Exp, Tensor::exp),
        (Op::Log, Tensor::log),
        (Op::Sqrt, Tensor::sqrt),
        (Op::Rsqrt, Tensor::rsqrt),
        (Op::Sin, Tensor::sin),
        (Op::Cos, Tensor::cos),
        (Op::Tanh, Tensor::tanh),
        (Op::Sigmoid, Tensor::sigmoid),
        (Op::Relu, Tensor::relu),
        (Op::Silu, Tensor::silu),
        (Op::Gelu, Tensor::gelu),
        (Op::GeluErf, Tensor::gelu_erf),
    ];
    let mut bench = Bench::new(1).await;
    for (op, call) in calls {
        let only_above_0 = matches!(op, Op::Log | Op::Sqrt | Op::Rsqrt);
        let (x, values) = bench.numbers([3, 7], |x| if only_above_0 { x.abs() + 0.1 } else { 3.0 * x });
        let expected = reference::elementwise(&[3, 7], &[(&values, &[3, 7])], &[Step::new(op, &[Arg::Input(0)])]);
        check(&op.name(), &call(&x).unwrap(), &[3, 7], expected).await;
    }
}

pub async fn operations_of_two() {
    type Call = fn(&Tensor, &Tensor) -> Result<Tensor>;
    let calls: [(Op, Call); 13] = [
        (Op::Add, |a, b| a.add(b)),
        (Op::Sub, |a, b| a.sub(b)),
        (Op::Mul, |a, b| a.mul(b)),
        (Op::Div, |a, b| a.div(b)),
        (Op::Min, |a, b| a.minimum(b)),
        (Op::Max, |a, b| a.maximum(b)),
        (Op::Pow, |a, b| a.pow(b)),
        (Op::Equal, |a, b| a.equal(b)),
        (Op::NotEqual, |a, b| a.not_equal(b)),
        (Op::Less, |a, b| a.less(b)),
        (Op::LessEqual, |a, b| a.less_equal(b)),
        (Op::Greater, |a, b| a.greater(b)),
        (Op::GreaterEqual, |a, b| a.greater_equal(b)),
    ];
    let mut bench = Bench::new(2).await;
    let (a, a_values) = bench.numbers([2, 1, 5], |x| (8.0 * x).round() / 4.0 + 2.5);
    let (b, b_values) = bench.numbers([3, 5], |x| (8.0 * x).round() / 4.0 + 2.5);
    for (op, call) in calls {
        let (shape, args) = ([2, 3, 5], [Arg::Input(0), Arg::Input(1)]);
        let inputs: [(&[f32], &[u32]); 2] = [(&a_values, &[2, 1, 5]), (&b_values, &[3, 5])];
        let expected = reference::elementwise(&shape, &inputs, &[Step::new(op, &args)]);
        check(&op.name(), &call(&a, &b).unwrap(), &shape, expected).await;
    }
    let condition = a.greater(2.5).unwrap();
    let expected = a_values.iter().map(|&x| if x > 2.5 { x } else { -x });
    check("select", &condition.select(&a, &a.neg().unwrap()).unwrap(), &[2, 1, 5], expected).await;
}

pub async fn numbers_beside_tensors() {
    let mut bench = Bench::new(3).await;
    let (x, values) = bench.floats([11]);
    check("x + 2", &x.add(2.0).unwrap(), &[11], values.iter().map(|x| x + 2.0)).await;
    check("x · -3", &x.mul(-3.0).unwrap(), &[11], values.iter().map(|x| x * -3.0)).await;
    check("x < 0", &x.less(0.0).unwrap(), &[11], values.iter().map(|&x| if x < 0.0 { 1.0 } else { 0.0 })).await;
}

pub async fn formulas() {
    let mut bench = Bench::new(4).await;
    let ((gate, g), (up, u)) = (bench.floats([3, 9]), bench.floats([9]));
    let formula = |[gate, up]: [Expression; 2]| (gate.silu() * up + 0.5).max(1.0 - gate.abs());
    let silu = |x: f32| x / (1.0 + (-x).exp());
    let expected: Vec<f32> =
        g.iter().enumerate().map(|(i, &g)| (silu(g) * u[i % 9] + 0.5).max(1.0 - g.abs())).collect();
    check("fuse", &Tensor::fuse([&gate, &up], formula).unwrap(), &[3, 9], expected.clone()).await;
    let halves = Tensor::fuse_as(DType::F16, [&gate, &up], formula).unwrap();
    assert_eq!(halves.to_string(), "[3, 9] f16");
    let error = |(found, expected): (&f32, &f32)| (found - expected).abs();
    let found = halves.read().await.unwrap();
    assert!(found.iter().zip(&expected).map(error).fold(0.0, f32::max) < 1e-3);
    let clone = gate.clone();
    Tensor::fuse_in_place([&gate, &up], formula).unwrap();
    check("in place", &clone, &[3, 9], expected).await;
}

pub async fn types() {
    let bench = Bench::new(5).await;
    let x = bench.device.tensor([2, 2], &[1.5, -2.25, 1e9, 0.1]).unwrap();
    let as_type = async |dtype| x.cast(dtype).unwrap().read().await.unwrap();
    assert_eq!(as_type(DType::F16).await, [1.5, -2.25, f32::INFINITY, 0.099_975_586]);
    assert_eq!(as_type(DType::BF16).await, [1.5, -2.25, 998_244_350.0, 0.100_097_656]);
    assert_eq!(x.cast(DType::I32).unwrap().read_as::<i32>().await.unwrap(), [1, -2, 1_000_000_000, 0]);
    assert_eq!(x.cast(DType::U32).unwrap().read_as::<u32>().await.unwrap(), [1, 0, 1_000_000_000, 0]);
    let halves = bench.device.tensor_from_bytes(DType::F16, [3], &[0, 0x3c, 0, 0xc0, 0, 0x7c]).unwrap();
    assert_eq!(halves.read().await.unwrap(), [1.0, -2.0, f32::INFINITY]);
    let signed = bench.device.tensor([3], &[-1, i32::MIN, i32::MAX]).unwrap();
    assert_eq!(signed.read_as::<i32>().await.unwrap(), [-1, i32::MIN, i32::MAX]);
    assert_eq!(bench.device.zeros(DType::F16, [3, 3]).unwrap().read().await.unwrap(), [0.0; 9]);
    assert_eq!(bench.device.tensor([], &[7.0]).unwrap().item().await.unwrap(), 7.0);
}
