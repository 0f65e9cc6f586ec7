//! Residual streams side by side.

use super::program::Activation;
use super::roles::WeightKey;

/// How streams become others, see [`Op::Streams`](super::program::Op::Streams).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StreamSpec {
    /// Values of a stream.
    pub width: usize,
    /// The stream of `base` that the first of y is made of.
    pub skip: usize,
    /// Streams of `x` that count, from the first on.
    pub inputs: usize,
    /// Streams of y before this one are those of `base`.
    pub first: usize,
    /// The part of all weights that no router changes.
    pub plus: f32,
    /// `weight[i, j] = plus + Σ_k w[i · inputs + j, k] · tanh(router[k] / width)`, with w a tensor
    /// `[streams of y · inputs, width of the router]`.
    pub router: Option<(Activation, WeightKey)>,
}

/// What [`Op::Spread`](super::program::Op::Spread) does with a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spreading {
    /// `x = max(x − mean x − this · σ, 0)` with σ the deviation of a sample: what is far above the mean stays.
    Cut(f32),
    /// Parts of a row, each as wide as this activation, get its length.
    LengthOf(Activation),
}
