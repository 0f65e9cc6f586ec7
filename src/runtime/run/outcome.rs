//! Results of a run: pieces on the way, and an outcome at its end.

use super::logprobs::ChosenToken;

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    /// The model wrote an end-of-generation token or a stop string, or the grammar was complete.
    Stop,
    /// The answer reached its maximum length, or the context is full.
    Length,
    /// The caller ended the run.
    Abort,
}

impl FinishReason {
    /// The reason as pages see it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::Abort => "abort",
        }
    }
}

/// Text and tokens that came since the last piece.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Piece {
    /// Ids of the new tokens.
    pub ids: Vec<u32>,
    /// Log-probabilities of the new tokens, if the run wants them.
    pub tokens: Vec<ChosenToken>,
    /// Text that became final.
    pub text: String,
}

/// Result of a run.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The whole text.
    pub text: String,
    /// Ids of all tokens, without the end-of-generation token.
    pub ids: Vec<u32>,
    /// Why the run ended.
    pub reason: FinishReason,
    /// Number of tokens of the prompt.
    pub prompt_tokens: usize,
    /// Number of tokens of the prompt that were in the KV cache already.
    pub cached_tokens: usize,
    /// Number of draft tokens that became part of the answer.
    pub accepted_drafts: usize,
    /// Number of draft tokens that were wrong, or came after the end.
    pub rejected_drafts: usize,
    /// Milliseconds from the start to the first token.
    pub first_token_ms: f64,
    /// Milliseconds from the first token to the last.
    pub decode_ms: f64,
}
