//! The loop from prompt to text, on whatever session it is.

pub(super) mod constraint;
pub(super) mod generate;
pub(super) mod logprobs;
pub(super) mod recovery;
pub(super) mod speculation;
