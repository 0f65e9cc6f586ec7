//! Residual streams side by side.

use super::program::Activation;
use super::roles::WeightKey;

/// The shape of a weighted sum of streams, see [`Op::Streams`](super::program::Op::Streams).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StreamSpec {
    /// Values of a stream.
    pub width: usize,
    /// The stream of `base` that is added to the first stream of y.
    pub skip: usize,
    /// Streams of `x` that are summed, from the first on.
    pub inputs: usize,
    /// Streams of y before this one equal the streams of `base`.
    pub first: usize,
    /// The constant part of all weights.
    pub plus: f32,
    /// `weight[i, j] = plus + Σ_k w[i · inputs + j, k] · tanh(router[k] / width)`, with w a tensor
    /// `[streams of y · inputs, width of the router]`.
    pub router: Option<(Activation, WeightKey)>,
}

/// How [`Op::Spread`](super::program::Op::Spread) changes a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spreading {
    /// `x = max(x − mean x − this · σ, 0)`, with σ the sample standard deviation: a sparse gate.
    Cut(f32),
    /// Scales the parts of a row, each as wide as this activation, to its length.
    LengthOf(Activation),
    /// `x = x / √(σ² + this)`, with σ the sample standard deviation. The mean stays.
    Deviation(f32),
    /// `x = exp x / Σ exp x`: softmax.
    Shares,
}
