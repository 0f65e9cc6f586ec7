//! The loop from prompt to text, for any kind of session.

mod chosen;
pub(super) mod constraint;
pub(super) mod engine;
mod evaluate;
pub(super) mod generate;
pub(super) mod guide;
mod hearing;
pub(super) mod logprobs;
pub(super) mod outcome;
pub(super) mod recovery;
pub(super) mod request;
mod speaking;
pub(super) mod speculation;
mod state;
