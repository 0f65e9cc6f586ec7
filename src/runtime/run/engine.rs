//! A model with its tokenizer and what it has read.

use std::cell::Cell;
use std::rc::Rc;

use super::state::Run;
use crate::runtime::any::AnySession;
use crate::runtime::held_rows::HeldRows;
use crate::runtime::session::AdapterUse;
use crate::tokenizer::Tokenizer;

/// A model, its tokenizer, and the current run.
pub struct Engine<S = AnySession> {
    /// Where the model runs.
    pub session: S,
    /// Converts between text and ids.
    pub tokenizer: Rc<Tokenizer>,
    /// Set this flag to end the run: it then ends at the next piece, also within a long prompt. Cleared when a run
    /// starts and when it is finished.
    pub stop: Rc<Cell<bool>>,
    /// Tokens that the KV cache holds.
    pub(in crate::runtime) cached: Vec<u32>,
    /// Number of tokens of the last prompt.
    pub(in crate::runtime) asked: usize,
    /// The first position of what may not be kept for later requests.
    pub(in crate::runtime) private_from: usize,
    /// The adapters with which these tokens were read.
    pub(in crate::runtime) cached_with: Vec<AdapterUse>,
    /// The tokens of the source that a decoder attends to.
    pub(in crate::runtime) source: Vec<u32>,
    /// Rows that the prompt of the run still has to enter.
    pub(in crate::runtime) rows: Vec<HeldRows>,
    pub(in crate::runtime) run: Option<Box<Run>>,
    /// Weights and biases of the output norm, once speech has needed them.
    pub(in crate::runtime) norm: Option<[Vec<f32>; 2]>,
}
