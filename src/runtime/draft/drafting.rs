//! What a request may say of speculative decoding.

/// Where drafts of the next tokens come from. They change how fast a text is written, and nothing else.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Drafting {
    /// From the draft model or the model's own block if there is one, otherwise from the text so far, as long as that
    /// saves time.
    #[default]
    Automatic,
    /// From the text so far, as long as some are right.
    Prompt,
    /// From the draft model, as long as some are right.
    Model,
    /// From the model's own block that predicts the token after the next, as long as some are right.
    Mtp,
    /// No drafts.
    Off,
}

impl Drafting {
    /// Number of tokens in a row that must be predicted before passes have drafts for the first time.
    pub(super) fn predicted(self) -> u32 {
        match self {
            Self::Model | Self::Mtp => 1,
            Self::Prompt => 2,
            _ => 6,
        }
    }
}
