//! What a run is asked for.

use crate::runtime::gpu::drafts::Drafting;
use crate::sampler::SamplingOptions;

/// What a run may do. By default the likeliest tokens, to the end of the text or the context.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct GenerateOptions {
    /// Tokens of the answer, at most; `None` goes on until the context is full.
    pub max_tokens: Option<usize>,
    /// How tokens are chosen.
    pub sampling: SamplingOptions,
    /// (id, bias): added to the logits of the id.
    pub biases: Vec<(u32, f32)>,
    /// How likely each token was is wanted, with so many that were most likely in its place.
    pub logprobs: Option<usize>,
    /// Strings that end the answer and are not part of it.
    pub stop: Vec<String>,
    /// Whether end-of-generation tokens are tokens like any other.
    pub ignore_eos: bool,
    /// Control tokens that the text shows by their names, which it otherwise leaves out.
    pub show_special: Vec<String>,
    /// (number, scale) of the adapters that the text is read and written with.
    pub adapters: Vec<(u32, f32)>,
    /// Where drafts of the tokens come from ...
    pub drafting: Drafting,
    /// ... besides the text: what much of it may be like.
    pub prediction: String,
}
