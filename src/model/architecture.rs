//! The table of known architectures.

/// Which elements of a head the rotary embedding turns together (Su et al. 2021, <https://arxiv.org/abs/2104.09864>).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RopeStyle {
    /// Neighbours: `(x[2i], x[2i + 1])`. The rows of a Llama GGUF's q and k weights are already permuted for it.
    Interleaved,
    /// Halves: `(x[i], x[i + n/2])` of the first `n` rotated elements, as in GPT-NeoX.
    SplitHalf,
}

/// Whether the q, k and v projections add a bias.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bias {
    /// Never: a file with such a tensor is refused.
    None,
    /// Where the file has the tensor.
    Optional,
    /// Always: a file without the tensor is refused.
    Required,
}

/// What sets one architecture apart from the next.
///
/// All of them are pre-norm decoders: RMS norm, attention, RMS norm, gated feed-forward with SiLU, both with a
/// residual.
#[derive(Debug, PartialEq, Eq)]
pub struct Architecture {
    /// The name in `general.architecture`, which is also the prefix of its metadata keys.
    pub name: &'static str,
    /// How q and k are rotated.
    pub rope: RopeStyle,
    /// Whether each head of q and k goes through its own RMS norm, with weights of length `head_dim`, before the
    /// rotation.
    pub qk_norm: bool,
    /// Biases of the q, k and v projections.
    pub qkv_bias: Bias,
}

/// Every architecture that webgguf runs.
pub static ARCHITECTURES: &[Architecture] = &[
    // Llama 2 and 3, Mistral, SmolLM, TinyLlama; InternLM's conversions bring biases.
    Architecture { name: "llama", rope: RopeStyle::Interleaved, qk_norm: false, qkv_bias: Bias::Optional },
    // Qwen 2 and 2.5.
    Architecture { name: "qwen2", rope: RopeStyle::SplitHalf, qk_norm: false, qkv_bias: Bias::Required },
    // Qwen 3, dense.
    Architecture { name: "qwen3", rope: RopeStyle::SplitHalf, qk_norm: true, qkv_bias: Bias::None },
];

impl Architecture {
    /// The architecture of this name in `general.architecture`, if webgguf knows it.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        ARCHITECTURES.iter().find(|a| a.name == name)
    }
}
