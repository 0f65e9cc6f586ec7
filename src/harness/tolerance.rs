//! How far a kernel may be from its reference, and the part of it that does not depend on the format.

use crate::formats::GgmlType;

/// The largest error, as a bound and relative to the expected value; the two add up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// Absolute.
    pub abs: f32,
    /// Times the expected value.
    pub rel: f32,
}

impl Tolerance {
    /// For kernels without weights in blocks: the rounding of f32 and of the GPU's exp and square root.
    pub const PLAIN: Self = Self { abs: 2e-6, rel: 2e-5 };

    /// For RoPE at any position.
    pub const TURNED: Self = Self { abs: 1e-5, rel: 1e-5 };

    /// For cosines and sines at any position.
    pub const TABLE: Self = Self { abs: 1e-5, rel: 0.0 };

    /// For what is stored as f16.
    pub const HALF: Self = Self { abs: 1e-4, rel: 1e-3 };

    /// For dot products of weights that are rounded to f16, where the result is of the order of 1.
    pub const HALF_WEIGHTS: Self = Self { abs: 1e-3, rel: 1e-3 };

    /// For dot products in f16 whose sums of 16 are rounded to f16 at every product, where the result is of the order
    /// of 1: sums between 8 and 16 are rounded to multiples of 2^-7.
    pub const HALF_SUMS: Self = Self { abs: 8e-3, rel: 1e-3 };

    /// For attention over f16 keys and values whose scores reach some tens.
    pub const ATTENTION: Self = Self { abs: 1e-4, rel: 1e-4 };

    /// The same where queries, keys, values and weights are rounded to f16.
    pub const HALF_ATTENTION: Self = Self { abs: 8e-3, rel: 2e-3 };

    /// For a weight read from a block: exact but for the order of a multiplication and a subtraction.
    pub const READ: Self = Self { abs: 1e-6, rel: 1e-6 };

    /// For dot products of weights of this type with f32 accumulation, where the result is of the order of 1.
    pub const fn dot(ty: GgmlType) -> Self {
        Self { abs: ty.format().dot_error, rel: 4e-6 }
    }

    /// The error of `found` as a multiple of the tolerance.
    pub fn error(&self, found: f32, expected: f32) -> f32 {
        (found - expected).abs() / (self.abs + self.rel * expected.abs())
    }
}
