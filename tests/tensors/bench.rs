//! A device, random tensors on it, and comparisons.

use webgguf::harness::{Random, Tolerance};
use webgguf::{Device, Shape, Tensor};

/// A device and random numbers.
pub struct Bench {
    pub device: Device,
    pub random: Random,
}

impl Bench {
    pub async fn new(seed: u64) -> Self {
        Self { device: Device::new().await.expect("a GPU driver"), random: Random::new(seed) }
    }

    /// A tensor of numbers between -1 and 1, and these.
    pub fn floats(&mut self, shape: impl Into<Shape>) -> (Tensor, Vec<f32>) {
        self.numbers(shape, |x| x)
    }

    /// The same after a function.
    pub fn numbers(&mut self, shape: impl Into<Shape>, function: impl Fn(f32) -> f32) -> (Tensor, Vec<f32>) {
        let shape = shape.into();
        let count = shape.elements() as usize;
        let values: Vec<f32> = self.random.floats(count).into_iter().map(function).collect();
        (self.device.tensor(shape, &values).expect("the shape fits"), values)
    }

    /// A tensor of ids below a bound, and these.
    pub fn ids(&mut self, shape: impl Into<Shape>, below: u32) -> (Tensor, Vec<u32>) {
        let shape = shape.into();
        let ids: Vec<u32> = (0..shape.elements()).map(|_| self.random.below(below)).collect();
        (self.device.tensor(shape, &ids).expect("the shape fits"), ids)
    }
}

/// Fails where a tensor has another shape, or numbers that are not close to those expected.
pub async fn check(name: &str, found: &Tensor, shape: &[u32], expected: impl IntoIterator<Item = impl Into<f64>>) {
    check_within(name, Tolerance { abs: 4e-6, rel: 4e-5 }, found, shape, expected).await;
}

/// As [`check`], with a tolerance.
pub async fn check_within(
    name: &str,
    tolerance: Tolerance,
    found: &Tensor,
    shape: &[u32],
    expected: impl IntoIterator<Item = impl Into<f64>>,
) {
    assert_eq!(&found.shape()[..], shape, "{name}");
    let numbers = found.read().await.unwrap_or_else(|error| panic!("{name}: {error}"));
    let expected: Vec<f32> = expected.into_iter().map(|x| x.into() as f32).collect();
    assert_eq!(numbers.len(), expected.len(), "{name}");
    for (i, (&found, &expected)) in numbers.iter().zip(&expected).enumerate() {
        let same = found == expected || (found.is_nan() && expected.is_nan());
        let is_close = same || tolerance.error(found, expected) <= 1.0;
        assert!(is_close, "{name}: element {i} is {found}, expected {expected}");
    }
}
