//! The dispatches that run a model, list by list.

use crate::kernels::spec::Dispatch;

/// Everything that runs a model.
#[derive(Debug, Clone, Default)]
pub struct Lists {
    /// A chunk of tokens through all layers: the residual stream holds the last layer's output.
    pub prefill: Vec<Dispatch>,
    /// Number of dispatches until caches and recurrent states are complete: of `prefill`, and in lists of several rows
    /// of `decode`.
    pub kept: usize,
    /// The last row of the pass → logits `[vocab]`.
    pub head: Vec<Dispatch>,
    /// The pass's one row through all layers and the head.
    pub decode: Vec<Dispatch>,
    /// The run's biases added to the logits.
    pub bias: Vec<Dispatch>,
    /// Logits → the largest one's id, committed as the next token.
    pub greedy: Vec<Dispatch>,
    /// Logits → one id by the run's sampling options, committed as the next token.
    pub sample: Vec<Dispatch>,
    /// Of passes with drafts: the recurrent states of before along the rows that were accepted.
    pub replay: Vec<Dispatch>,
    /// After `prefill`, where the model predicts the token after the next: that block along the rows, as far as its
    /// cache needs. The lists of few rows have it within `decode`.
    pub follow: Vec<Dispatch>,
    /// Of passes with drafts: a step that drafts a token, or all of a pass.
    pub step: Vec<Dispatch>,
    /// Where the model attends to a source: its encoder over the rows of one.
    pub source: Vec<Dispatch>,
    /// After `source`: the keys and values of all layers, for each sequence in turn.
    pub keys: Vec<Dispatch>,
}

impl Lists {
    /// Each list, in order.
    pub fn each(&self) -> [&Vec<Dispatch>; 11] {
        let Self { prefill, head, decode, bias, greedy, sample, replay, follow, step, source, keys, .. } = self;
        [prefill, head, decode, bias, greedy, sample, replay, follow, step, source, keys]
    }

    /// All dispatches.
    pub fn all(&self) -> impl Iterator<Item = &Dispatch> {
        self.each().into_iter().flatten()
    }
}
