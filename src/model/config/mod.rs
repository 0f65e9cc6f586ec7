//! Metadata → [`ModelConfig`]: every number a model needs, typed, checked, and with its default in one place.
//!
//! Past this point nobody reads metadata again, and nobody checks a dimension again.

mod asked;
mod convolutions;
mod embedder;
mod encoder;
mod encoder_lists;
mod hadamard;
mod keys;
mod latent;
mod layered;
mod numbers;
mod parts;
mod rope;
mod sampling;
mod switch;
mod wkv;

use std::collections::HashSet;
use std::sync::Arc;

pub(super) use keys::Keys;
use numbers::{head_dim, heads, quantization, rope_dims, trunk_layers, vocabulary};
pub use rope::{RopeScaling, RopeSections, YarnRamp};

pub use latent::Latent;
pub use layered::{Decoder, DeepRows, Loops, Stacks, T5};
pub use wkv::Wkv;

pub use convolutions::{STRIDES, flatten, rounded_kernel};
pub use embedder::{EmbedderConfig, Embeds, Pooling};
pub(super) use encoder::{AUDIO, CLIP, VISION, VOICE};
pub use encoder::{EncoderConfig, MostRows, Projector};
pub(super) use encoder_lists::{Block, Blocks, MAX_TAKEN, RESAMPLER_HEAD, Sam};
pub(super) use parts::CODEC_WINDOW;
pub use parts::Part;
pub use sampling::Suggested;

pub use hadamard::Rotations;

use super::{Drafter, Switch, Xielu, experts::ExpertConfig, roles::HEAD};
use crate::error::{Error, ErrorCode, Result};
use crate::gguf::Gguf;

// Upper bounds of what a file may say. Far above any model that fits a browser, far below what overflows 32-bit sizes
// when multiplied.
const MAX_LAYERS: usize = 1000;
const MAX_HIDDEN: usize = 1 << 17;
const MAX_FFN: usize = 1 << 19;
const MAX_HEADS: usize = 1 << 10;
const MAX_HEAD_DIM: usize = 1 << 10;
const MAX_SSM: usize = 1 << 12;
const MAX_CONV_KERNEL: usize = 8;
pub(in crate::model) const MAX_DEEP_ROWS: usize = 8;
const MAX_CONTEXT: usize = 1 << 27;
const MAX_VOCAB: usize = 1 << 24;

/// An architecture, as the table of families describes it before a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Architecture {
    /// `general.architecture`, and the prefix of its metadata keys.
    pub name: &'static str,
    /// Whether the architecture makes embeddings.
    pub embeds: Embeds,
    /// How the pairs of a head are divided among the axes of a position, for multi-axis RoPE.
    pub axes: Option<Axes>,
    /// The kind of projector, for encoders of images and sounds.
    pub projector: Option<Projector>,
}

/// How the RoPE pairs of a head are divided among positions in time, height and width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axes {
    /// A section of pairs for each axis.
    InSections,
    /// Pair by pair, the axes take turns.
    ByTurns,
}

/// In which layers rows of an image see each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WholeImages {
    /// In no layer: a row sees only rows before it.
    Never,
    /// In layers with a sliding window.
    InWindows,
    /// In all layers.
    Always,
}

/// Which layers have a sliding window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlidingPattern {
    /// All layers but the last of each group of this size; 0: all layers.
    Every(usize),
    /// A flag for each layer.
    Layers(Vec<bool>),
}

impl SlidingPattern {
    /// Whether this layer has a sliding window.
    pub fn slides(&self, layer: usize) -> bool {
        match self {
            Self::Every(0) => true,
            Self::Every(n) => layer % n < n - 1,
            Self::Layers(layers) => layers.get(layer).copied().unwrap_or(false),
        }
    }
}

/// A count that may differ from layer to layer; 0 where the layer lacks the part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PerLayer {
    /// The same count for all layers.
    All(usize),
    /// A count for each layer.
    Each(Vec<usize>),
}

impl PerLayer {
    /// The count of a layer.
    pub fn of(&self, layer: usize) -> usize {
        match self {
            Self::All(count) => *count,
            Self::Each(counts) => counts.get(layer).copied().unwrap_or(0),
        }
    }

    /// The largest count of any layer.
    pub fn max(&self) -> usize {
        match self {
            Self::All(count) => *count,
            Self::Each(counts) => counts.iter().copied().max().unwrap_or(0),
        }
    }
}

/// The numbers of state-space layers, and of layers of other kinds that use the same metadata keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ssm {
    /// Kernel size of the causal convolution, in tokens.
    pub kernel: usize,
    /// Inner width: values of all heads together.
    pub inner: usize,
    /// State size of each inner value; for a delta rule, the head size.
    pub state: usize,
    /// Heads, each with its own decay; in Mamba 1, the rank of the time steps.
    pub heads: usize,
    /// Heads of B and C, or of q and k for a delta rule.
    pub groups: usize,
    /// Whether time steps, B and C go through RMS norms without weights.
    pub bare_norms: bool,
}

/// The hyperparameters of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelConfig {
    /// `general.architecture`: the name of its family's row, and the prefix of its metadata keys.
    pub architecture: &'static str,
    /// `general.name`.
    pub name: Option<String>,
    /// A label such as `Q4_K_M`, from `general.file_type`, or else the type of most of the weights.
    pub quantization: &'static str,
    /// How the file suggests that tokens are chosen.
    pub sampling: Suggested,
    /// The number of weights in all tensors of the file.
    pub parameters: u64,
    /// Decoder layers, without the blocks for multi-token prediction at the end.
    pub layers: usize,
    /// Whether the file has a block for multi-token prediction that is used. Families that support it make it
    /// [`Program::next`](super::program::Program::next).
    pub predicts_next: bool,
    /// What comes from a file of its own in place of such a block.
    pub drafter: Option<Box<Drafter>>,
    /// How often the whole stack of layers runs.
    pub loops: Loops,
    /// Width of the residual stream.
    pub hidden: usize,
    /// Width inside the feed-forward.
    pub ffn: PerLayer,
    /// The experts, in mixture-of-experts models.
    pub experts: ExpertConfig,
    /// Query heads; a multiple of `kv_heads` in layers with attention.
    pub heads: PerLayer,
    /// Key and value heads; 0 in layers without attention.
    pub kv_heads: PerLayer,
    /// Elements per head, an even number; 0 where no layer has heads.
    pub head_dim: usize,
    /// Multi-head latent attention, in families that have it: then there is one KV head, and `head_dim` is its width.
    pub latent: Option<Latent>,
    /// How many elements of each head are rotated, from the first on; even, at most `head_dim`.
    pub rope_dims: usize,
    /// The base of the rotary frequencies: pair `i` turns by `theta^(-2i / rope_dims)` per position.
    pub rope_theta: f32,
    /// How rotations are scaled.
    pub rope_scaling: RopeScaling,
    /// Which pairs turn by which axis, where positions have several axes.
    pub rope_sections: Option<RopeSections>,
    /// The context length of the original training, before RoPE scaling.
    pub original_context: usize,
    /// Whether the file says that nothing is rotated: `rope.scaling.finetuned` is false.
    pub rope_unused: bool,
    /// The base of the rotary frequencies on layers with a sliding window, if the file has one of its own.
    pub rope_theta_sliding: Option<f32>,
    /// Elements per head in layers with a sliding window; `head_dim` unless the file says otherwise.
    pub head_dim_sliding: usize,
    /// How many of `head_dim_sliding` are rotated.
    pub rope_dims_sliding: usize,
    /// The number of last layers that reuse keys and values of earlier layers.
    pub shared_kv_layers: usize,
    /// Values per token and layer of an embedding per layer, if there is one.
    pub per_layer_embedding: Option<usize>,
    /// Tokens that a query of a layer with a sliding window sees, itself included.
    pub sliding_window: Option<usize>,
    /// Which layers have the window, if the file says.
    pub sliding_pattern: Option<SlidingPattern>,
    /// Which layers are rotated, if the file says.
    pub rope_pattern: Option<SlidingPattern>,
    /// The state-space layers, if the file has their keys.
    pub ssm: Option<Ssm>,
    /// RWKV's layers, if the file has their keys.
    pub wkv: Option<Wkv>,
    /// Which layers have a recurrent state and no KV cache, if the file says.
    pub recurrent_layers: Option<SlidingPattern>,
    /// The factor of attention scores, where it is not 1 / √head_dim.
    pub attention_scale: Option<f32>,
    /// Queries at position p are multiplied by `1 + this · ln(⌊p / original context⌋ + 1)`.
    pub attention_temperature: Option<f32>,
    /// The factor of embeddings.
    pub embedding_scale: Option<f32>,
    /// The factor of everything that is added to the residual stream.
    pub residual_scale: Option<f32>,
    /// The divisor of logits.
    pub logit_scale: Option<f32>,
    /// Attention scores `s` become `cap · tanh(s / cap)`.
    pub attention_soft_cap: Option<f32>,
    /// Logits `l` become `cap · tanh(l / cap)`.
    pub final_soft_cap: Option<f32>,
    /// Queries, keys and values are clamped to this absolute value.
    pub clamp_qkv: Option<f32>,
    /// The bias of ALiBi, if the file says.
    pub alibi: Option<f32>,
    /// The further numbers of a T5.
    pub t5: T5,
    /// Whether `ffn_up` has the rows of gate and up.
    pub wide_up: bool,
    /// Whether attention and feed-forward run in parallel from one input, if the file says.
    pub parallel_residual: Option<bool>,
    /// The activation of each layer, where the file has its numbers.
    pub xielu: Vec<Xielu>,
    /// Epsilon of RMS norms.
    pub norm_eps: f32,
    /// Epsilon of layer norms.
    pub layer_norm_eps: f32,
    /// Tokens that a gated convolution sees, if the model has such layers.
    pub short_conv_kernel: Option<usize>,
    /// The longest context that the model was trained for, in tokens.
    pub context_length: usize,
    /// Rows of the embedding table and of the head, and tokens of the tokenizer.
    pub vocab: usize,
    /// Whether the embedding table is also the head.
    pub tied: bool,
    /// DeepStack: further rows of an image that are added to the residual stream.
    pub deep: DeepRows,
    /// Pooling, for embedders and rerankers.
    pub embedder: EmbedderConfig,
    /// The further numbers of an encoder of images or sounds.
    pub encoder: Option<EncoderConfig>,
    /// The model's own adapters.
    pub switch: Option<Arc<Switch>>,
    /// Tokens by which the words lag behind a sound, and values between the products of conditions: for models whose
    /// norms are conditioned on the delay.
    pub delay: Option<[usize; 2]>,
    /// The matrices that the file has rotated.
    pub rotations: Option<Rotations>,
    /// The names of the file's tensors: some families have more than one form.
    pub tensor_names: HashSet<String>,
    /// [`Gguf::digest`]: which model it is.
    pub digest: u64,
    /// Warnings for users: what the file asks for and is not done.
    pub notes: Vec<String>,
}

impl ModelConfig {
    /// Reads and checks the metadata of a model of this architecture; see [`super::config()`].
    pub(super) fn from_gguf(gguf: &Gguf, architecture: Architecture) -> Result<Self> {
        let metadata = &gguf.metadata;
        let keys = Keys { metadata, architecture: architecture.name };
        let hidden = keys.required("embedding_length", MAX_HIDDEN)?;
        let is_bare = architecture.projector.is_some_and(|of| of.is_bare);
        let blocks = if is_bare { 0 } else { keys.required("block_count", MAX_LAYERS)? };
        let encoder = architecture.projector.map(|of| EncoderConfig::read(&keys, gguf, of, blocks)).transpose()?;
        let context_length = match &encoder {
            Some(encoder) => encoder.most_rows(),
            None => keys.required("context_length", MAX_CONTEXT)?,
        };
        let original_context = rope::original_context(&keys, context_length)?;
        let (layers, wkv) = (trunk_layers(&keys, blocks)?, Wkv::from_keys(&keys)?);
        let (heads, kv_heads) = match wkv.is_some() || parts::is_vocoder(&keys, &architecture) {
            true => (PerLayer::All(0), PerLayer::All(0)),
            false => heads(&keys, blocks)?,
        };
        let latent = Latent::from_keys(&keys, hidden / heads.max().max(1))?;
        let (head_dim, kv_heads) = match &latent {
            Some(latent) => (latent.width(), PerLayer::All(1)),
            None => (head_dim(&keys, hidden, heads.max(), encoder.is_some())?, kv_heads),
        };
        if let Some(encoder) = &encoder {
            encoder.check_heads(&keys, heads.max(), head_dim)?;
        }
        let head_dim_sliding = keys.even("attention.key_length_swa", MAX_HEAD_DIM)?.unwrap_or(head_dim);
        let rope_dims = rope_dims(&keys, head_dim)?;
        let dims_sliding = keys.even("rope.dimension_count_swa", head_dim_sliding)?;
        let rope_sections = rope::sections(&keys, rope_dims, architecture.axes)?;
        let experts = ExpertConfig::from_keys(&keys, blocks, &gguf.tensors)?;
        let no_ffn = experts.ffn.as_ref().map(|_| PerLayer::All(0)); // experts may have their own key
        let ffn = match &encoder {
            Some(encoder) => Some(PerLayer::All(encoder.ffn)),
            None => keys.per_layer("feed_forward_length", blocks, MAX_FFN)?.or(no_ffn),
        };
        let ffn = ffn.ok_or_else(|| keys.missing("feed_forward_length"))?;
        let up = gguf.tensors.iter().find(|tensor| tensor.name == "blk.0.ffn_up.weight");
        let wide_up = up.and_then(|up| up.dims.get(1)).is_some_and(|&rows| rows == 2 * ffn.of(0) as u64);
        let [norm_eps, layer_norm_eps] = keys.norm_eps()?;
        Ok(Self {
            architecture: architecture.name,
            name: metadata.str("general.name")?.map(str::to_owned),
            quantization: quantization(metadata, &gguf.tensors)?,
            sampling: Suggested::of_text(metadata),
            parameters: gguf.tensors.iter().fold(0, |sum, tensor| sum.saturating_add(tensor.elements())),
            layers,
            predicts_next: blocks == layers + 1,
            drafter: None,
            loops: Loops::from_keys(&keys, layers)?,
            hidden,
            ffn,
            experts,
            heads,
            kv_heads,
            head_dim,
            latent,
            rope_dims,
            head_dim_sliding,
            rope_dims_sliding: dims_sliding.unwrap_or(rope_dims.min(head_dim_sliding)),
            shared_kv_layers: keys.shared_kv_layers(layers)?,
            per_layer_embedding: keys.count_or_none("embedding_length_per_layer_input", MAX_HEADS)?,
            rope_theta: rope::theta(&keys, head_dim)?,
            rope_sections,
            rope_scaling: RopeScaling::from_keys(&keys, original_context)?,
            original_context,
            rope_unused: rope::is_unused(&keys)?,
            rope_theta_sliding: keys.positive("rope.freq_base_swa")?,
            sliding_window: keys.window()?,
            sliding_pattern: keys.pattern("attention.sliding_window_pattern")?,
            rope_pattern: keys.pattern("attention.rope_pattern")?,
            ssm: keys.ssm()?,
            wkv,
            recurrent_layers: keys.recurrent_layers()?,
            attention_scale: keys.scale("attention.scale")?,
            attention_temperature: keys.scale("attention.temperature_scale")?,
            embedding_scale: keys.scale("embedding_scale")?,
            residual_scale: keys.scale("residual_scale")?,
            logit_scale: keys.scale("logit_scale")?,
            attention_soft_cap: keys.not_negative("attn_logit_softcapping")?,
            final_soft_cap: keys.not_negative("final_logit_softcapping")?,
            clamp_qkv: keys.scale("attention.clamp_kqv")?,
            alibi: keys.scale("attention.max_alibi_bias")?,
            t5: T5::from_keys(&keys, layers)?,
            wide_up,
            parallel_residual: metadata.bool(&keys.name("use_parallel_residual"))?,
            xielu: layered::xielu(&keys, layers)?,
            norm_eps,
            layer_norm_eps,
            short_conv_kernel: keys.count("shortconv.l_cache", MAX_CONV_KERNEL)?,
            context_length,
            vocab: if encoder.is_some() { 1 } else { vocabulary(&keys, &gguf.tensors)? },
            tied: !gguf.tensors.iter().any(|tensor| tensor.name == HEAD),
            deep: DeepRows::from_keys(&keys, layers)?,
            embedder: EmbedderConfig::read(&keys, architecture.embeds, hidden)?,
            encoder,
            switch: Switch::from_keys(&keys)?,
            delay: keys.delay(&gguf.tensors)?,
            rotations: Rotations::read(gguf)?,
            tensor_names: gguf.tensors.iter().map(|tensor| tensor.name.clone()).collect(),
            digest: gguf.digest,
            notes: Vec::new(),
        })
    }

    /// Whether the file has a tensor of this name.
    pub fn has_tensor(&self, name: &str) -> bool {
        self.tensor_names.contains(name)
    }
}

fn unsupported(message: String) -> Error {
    Error::new(ErrorCode::UnsupportedArchitecture, message)
}
