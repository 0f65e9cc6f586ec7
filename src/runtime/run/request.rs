//! What a run is asked for.

use crate::runtime::draft::drafting::Drafting;
use crate::sampler::SamplingOptions;

/// Options of a run. By default it chooses the likeliest tokens, to the end of the text or of the context.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct GenerateOptions {
    /// Maximum number of tokens of the answer; `None` goes on until the context is full.
    pub max_tokens: Option<usize>,
    /// How tokens are chosen.
    pub sampling: SamplingOptions,
    /// With DRY, the texts beyond which no repetition goes; `None` for llama.cpp's: line break, `:`, `"` and `*`.
    pub dry_sequence_breakers: Option<Vec<String>>,
    /// Pairs of an id and the bias that is added to its logit.
    pub biases: Vec<(u32, f32)>,
    /// The tokens of the source, for models with an encoder that reads one, and for no others.
    pub source: Vec<u32>,
    /// Number of most likely tokens to return with each token's log-probability; `None` for no log-probabilities.
    pub logprobs: Option<usize>,
    /// Strings that end the answer and are not part of it.
    pub stop: Vec<String>,
    /// Whether end-of-generation tokens are treated like any others.
    pub ignore_eos: bool,
    /// Names of control tokens that the text shows; it leaves out all others.
    pub show_special: Vec<String>,
    /// Pairs of number and scale of the adapters that the text is read and written with.
    pub adapters: Vec<(u32, f32)>,
    /// Whether nothing of this run may be kept for later ones, beside what the cache of its session has.
    pub is_private: bool,
    /// Whether the prompt may end with a row, as what a model has spoken does.
    pub follows_row: bool,
    /// Whether and when drafts of the next tokens are taken from the text.
    pub drafting: Drafting,
    /// A text that much of the answer may be like, from which drafts may come, too.
    pub prediction: String,
}
