//! Sizes of a tensor's axes.

use std::fmt;
use std::ops::Deref;

/// Elements along each axis of a tensor, the outermost first; empty for a scalar. Reads as a slice.
///
/// A tensor has at most five axes, none of them empty, and 2³¹ − 1 elements: what makes a tensor checks that.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Shape(Vec<u32>);

impl Shape {
    /// Elements of all axes together.
    pub fn elements(&self) -> u64 {
        self.iter().fold(1, |product, &size| u64::from(size).saturating_mul(product))
    }
}

impl Deref for Shape {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.0
    }
}

impl<const N: usize> From<[u32; N]> for Shape {
    fn from(axes: [u32; N]) -> Self {
        Self(axes.to_vec())
    }
}

impl From<&[u32]> for Shape {
    fn from(axes: &[u32]) -> Self {
        Self(axes.to_vec())
    }
}

impl From<Vec<u32>> for Shape {
    fn from(axes: Vec<u32>) -> Self {
        Self(axes)
    }
}

impl From<&Shape> for Shape {
    fn from(shape: &Shape) -> Self {
        shape.clone()
    }
}

impl From<Shape> for Vec<u32> {
    fn from(Shape(axes): Shape) -> Self {
        axes
    }
}

impl<const N: usize> PartialEq<[u32; N]> for Shape {
    fn eq(&self, axes: &[u32; N]) -> bool {
        self.0 == axes
    }
}

/// `[2, 3]`
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}
