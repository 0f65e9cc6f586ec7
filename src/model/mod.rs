//! A model without kernels and GPU: its hyperparameters, its program and its tensors.
//!
//! [`config()`] reads a file's metadata; [`program()`] calls the family of the architecture, which writes the program;
//! [`weight_specs`] lists the tensors that the program reads, with names and shapes. A new family is one file in
//! `families/` and one row of its table.

mod adapter;
mod attention;
mod cells;
mod condition;
mod config;
mod drafter;
mod encoder_input;
mod encoder_rows;
mod encoder_sample;
mod experts;
mod families;
mod input;
mod op;
mod op_weights;
pub mod program;
mod rare;
mod recurrent;
mod roles;
mod rotation;
mod streams;
mod switch;
mod tensors;

pub use adapter::{Adapter, Pair, direction_key};
pub use config::{
    Decoder, EmbedderConfig, Embeds, EncoderConfig, Latent, Loops, ModelConfig, MostRows, PerLayer, Pooling, Projector,
    RopeScaling, RopeSections, Rotations, Ssm, Suggested, T5, WholeImages, Wkv, YarnRamp, flatten, rounded_kernel,
};
pub use drafter::{Drafter, Masks};
pub use encoder_input::{EncoderInput, Fold, TableWidths, Taps};
pub use experts::ExpertConfig;
pub use families::{PART, SOUNDS, architectures, check_input, check_kind, is_encoder, is_rare, program, whole_images};
pub use input::{InputRows, InputRun, InputSource, Item, Places, RowIds, end_with_images};
pub use op_weights::{OpWeight, WeightUse};
pub use rare::{expects_rare, has_rare_code, needs_rare};
pub use roles::{Role, WeightKey};
pub use rotation::{Rotation, unrotated};
pub use switch::{Switch, Switching};
pub use tensors::{WeightSpec, match_tensors, weight_specs};

use crate::gguf::Gguf;
use crate::{Error, Result};

/// Which values of a head the rotary embedding rotates as a pair (Su et al. 2021, <https://arxiv.org/abs/2104.09864>).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RopeStyle {
    /// Neighbours: `(x[2i], x[2i + 1])`. The rows of a Llama GGUF's q and k weights are already permuted for it.
    Interleaved,
    /// Halves: `(x[i], x[i + n/2])` of the first `n` rotated values, as in GPT-NeoX.
    SplitHalf,
}

/// A function of single values, such as the activation of a feed-forward without a gate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ActivationKind {
    /// GELU in its tanh form (Hendrycks and Gimpel 2016, <https://arxiv.org/abs/1606.08415>)
    Gelu,
    /// GELU in its exact form
    GeluErf,
    /// tanh
    Tanh,
    /// The logistic function
    Sigmoid,
    /// SiLU
    Silu,
    /// `x · σ(1.702 x)` (Hendrycks and Gimpel 2016, <https://arxiv.org/abs/1606.08415>)
    QuickGelu,
    /// `max(x, 0)`
    Relu,
    /// `max(x, 0)²` (So et al. 2021, <https://arxiv.org/abs/2109.08668>)
    ReluSquared,
    /// sin x, for embeddings of times
    Sin,
    /// cos x
    Cos,
    /// See [`Xielu`].
    Xielu(Xielu),
    /// Clamps to ± this. Where q, k and v lie side by side, clamping one may also reach the others, which are clamped
    /// already.
    Clamp(f32),
}

/// xIELU (Huang and Schlag 2024, <https://arxiv.org/abs/2411.13010>): `positive · x² + beta · x` for x above 0, else
/// `negative · (exp(min(x, eps)) − 1 − x) + beta · x`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Xielu {
    /// Factor of the square.
    pub positive: f32,
    /// Factor of the exponential.
    pub negative: f32,
    /// Factor of x.
    pub beta: f32,
    /// Upper bound of the exponent, just below 0.
    pub eps: f32,
}

impl Xielu {
    /// ELU (Clevert, Unterthiner and Hochreiter 2015, <https://arxiv.org/abs/1511.07289>): x above 0, else
    /// `exp(x) − 1`.
    pub const ELU: Self = Self { positive: 0.0, negative: 1.0, beta: 1.0, eps: 0.0 };
}

/// The factor inside [`ActivationKind::QuickGelu`].
pub const QUICK_GELU: f32 = 1.702;

/// The activation of a gated feed-forward (Shazeer 2020, <https://arxiv.org/abs/2002.05202>).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateKind {
    /// SiLU
    #[default]
    SwiGlu,
    /// GELU in its tanh form
    GeGlu,
}

/// Reads the hyperparameters of a file's model.
///
/// # Errors
/// `unsupported_architecture` for an architecture, a RoPE scaling or a layout that webgguf does not run; `bad_file`
/// for a missing key, a wrong type, a number out of range, or numbers that contradict each other.
pub fn config(gguf: &Gguf) -> Result<ModelConfig> {
    checked(numbers(gguf)?, gguf)
}

/// Reads the hyperparameters of a file's model, which [`checked`] is to check.
///
/// # Errors
/// Most of those of [`config`].
pub fn numbers(gguf: &Gguf) -> Result<ModelConfig> {
    if gguf.tensors.is_empty() && gguf.metadata.get("tokenizer.ggml.tokens").is_some() {
        return Err(Error::invalid_argument("the file is a vocabulary without weights: load it with Tokenizer.load"));
    }
    let architecture = families::known(&gguf.metadata)?;
    ModelConfig::from_gguf(gguf, architecture)
}

/// Checks that hyperparameters do not contradict each other, by the program that follows from them.
///
/// # Errors
/// As for [`config`].
pub fn checked(config: ModelConfig, gguf: &Gguf) -> Result<ModelConfig> {
    let program = program(&config);
    program.check(&config)?;
    families::check_rotations(&program, &config)?;
    if config.encoder.is_some() { Ok(config) } else { config.with_notes(gguf) }
}
