//! Structured output: which tokens may come next, for a JSON schema, a regular expression, a choice of texts or a
//! grammar. A thin face over `llguidance`, built as a WebAssembly module of its own that is fetched when it is first
//! needed.
//!
//! A [`Vocabulary`] is made once per model, a [`Grammar`] once per schema, a [`Matcher`] per text.

mod gbnf;
mod grammar;
mod schema;
mod vocabulary;
#[cfg(target_arch = "wasm32")]
mod web;

pub use gbnf::lark_of_gbnf;
pub use grammar::{Grammar, Matcher};
pub use vocabulary::{Tokenize, Tokens, Vocabulary};
