//! What a run gives: pieces on the way, and an outcome at its end.

use super::logprobs::ChosenToken;

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    /// An end-of-generation token or a stop string.
    Stop,
    /// The longest answer that was asked for, or the context is full.
    Length,
    /// The caller left.
    Abort,
}

impl FinishReason {
    /// As pages see it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::Abort => "abort",
        }
    }
}

/// Text and tokens since the last piece.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Piece {
    /// New tokens.
    pub ids: Vec<u32>,
    /// How likely they were, where that is wanted.
    pub tokens: Vec<ChosenToken>,
    /// Text that is final now.
    pub text: String,
}

/// A run that ended.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// All text.
    pub text: String,
    /// All tokens, without the end-of-generation token.
    pub ids: Vec<u32>,
    /// Why it ended.
    pub reason: FinishReason,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Of these, tokens that the KV cache held already.
    pub cached_tokens: usize,
    /// Tokens of the answer that were drafted, and right.
    pub accepted_drafts: usize,
    /// Tokens that were drafted, and wrong or after an end.
    pub rejected_drafts: usize,
    /// Milliseconds from the start to the first token.
    pub first_token_ms: f64,
    /// Milliseconds from the first token to the last.
    pub decode_ms: f64,
}
