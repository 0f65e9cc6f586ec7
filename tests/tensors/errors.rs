use webgguf::{
    AttentionDecodeOptions, DType, Device, ErrorCode, Expression, GgmlType, Result, SinkhornOptions, Tensor,
};

use crate::bench::Bench;

fn refused<T>(made: Result<T>) -> String {
    let error = made.err().expect("an error");
    assert_eq!(error.code(), ErrorCode::InvalidArgument, "{error}");
    error.message().to_owned()
}

pub async fn wrong_inputs_are_named() {
    let device = Bench::new(61).await.device;
    let x = device.tensor([2, 3], &[0.0; 6]).unwrap();
    let message = "matmul: a is [2, 3] f32 and b [2, 3] f32; rows of a have 3 elements, columns of b 2";
    assert_eq!(refused(x.matmul(&x)), message);
    let message = "sinkhorn: x is [2, 3] f32, 2 rows of 3; it must be square";
    assert_eq!(refused(x.sinkhorn(&SinkhornOptions::default())), message);
    let message = "tensor: the shape [2, 2] f32 has 4 elements, the data 3";
    assert_eq!(refused(device.tensor([2, 2], &[1.0, 2.0, 3.0])), message);
    assert!(refused(device.tensor([0], &[0.0; 0])).contains("an axis is empty"));
    assert!(refused(device.zeros(DType::F32, [1; 6])).contains("6 axes, at most 5"));
    assert!(refused(device.zeros(DType::Quantised(GgmlType::Q4_0), [2, 32])).contains("[2, 32] q4_0 is in blocks"));
    assert!(refused(device.tensor([u32::MAX; 5], &[0.0])).contains("elements, the data 1"));
    let large = device.zeros(DType::F32, [(device.info().max_tensor_bytes / 4 + 1) as u32]).unwrap_err();
    assert_eq!(large.code(), ErrorCode::LimitExceeded, "{large}");
    // More heads than a grid has workgroups, and sizes whose product is above 2^32.
    let q = device.zeros(DType::F32, [2100, 32, 8]).unwrap();
    let cache = device.zeros(DType::F16, [2100, 32, 2, 8]).unwrap();
    let error =
        q.attention_decode(&cache, &cache, &AttentionDecodeOptions { length: 1, ..Default::default() }).unwrap_err();
    assert_eq!(error.code(), ErrorCode::LimitExceeded, "{error}");
    assert_eq!(error.message(), "attentionDecode: q has 67200 heads in all, expected at most 65535");
    let blocks = device.tensor_from_bytes(DType::Quantised(GgmlType::Q4_0), [65_537, 65_536, 32], &[0; 36]);
    assert!(refused(blocks).contains("[65537, 65536, 32] has more than 2^32 - 1 weights"));
    assert!(refused(Tensor::concat(&[], 0)).contains("no tensors"));
    assert!(refused(Tensor::fuse([], |[]: [Expression; 0]| unreachable!())).contains("no tensors"));
    let long = |[x]: [Expression; 1]| (0..17).fold(x, |x, _| x.exp());
    assert!(refused(Tensor::fuse([&x], long)).contains("17 steps, at most 16"));
}

pub async fn devices_do_not_mix() {
    let [one, other] = [Device::new().await.unwrap(), Device::new().await.unwrap()];
    let [a, b] = [&one, &other].map(|device| device.tensor([2, 2], &[1.0, 2.0, 3.0, 4.0]).unwrap());
    assert_eq!(refused(a.matmul(&b)), "matmul: [2, 2] f32 and [2, 2] f32 belong to different devices");
    assert!(refused(Tensor::concat(&[&a, &b], 0)).contains("different devices"));
    assert!(a.add(&one.clone().tensor([2], &[1.0, 2.0]).unwrap()).is_ok());
}

pub async fn only_plain_numbers_are_read() {
    let device = Bench::new(63).await.device;
    let ids = device.tensor([2], &[1u32, 2]).unwrap();
    assert_eq!(refused(ids.read().await), "data: [2] u32 has no f32 numbers; cast it first");
    assert!(refused(ids.item().await).contains("[2] u32 has 2 elements, not one"));
}
