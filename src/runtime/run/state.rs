//! The state of a run.

use super::guide::Progress;
use super::outcome::{FinishReason, Piece};
use super::request::GenerateOptions;
use crate::runtime::draft::drafting::Drafting;
use crate::runtime::session::{Listener, RunIds, Session};
use crate::sampler::SamplingOptions;
use crate::tokenizer::{StopMatcher, TextStream, Tokenizer};

/// A text that is being written: what was asked for, and what is written so far.
pub(in crate::runtime) struct Run {
    pub(in crate::runtime) prompt: Vec<u32>,
    /// The source, for models with an encoder that reads one.
    pub(super) source: Vec<u32>,
    pub(super) cached_tokens: usize,
    pub(in crate::runtime) ids: Vec<u32>,
    pub(super) sampling: SamplingOptions,
    /// With DRY, the texts beyond which no repetition goes.
    pub(super) breakers: Option<Vec<String>>,
    pub(super) biases: Vec<(u32, f32)>,
    pub(in crate::runtime) logprobs: Option<usize>,
    pub(super) drafting: Drafting,
    pub(super) prediction: Vec<u32>,
    /// Ids that end the run.
    pub(in crate::runtime) ends: Vec<u32>,
    /// The grammar that the text follows, if any.
    pub(in crate::runtime) guide: Option<Progress>,
    pub(super) text: String,
    /// The part of a piece that was made before an error. A run that survives the error hands it out later.
    pub(super) piece: Piece,
    pub(super) stream: TextStream,
    pub(super) stops: StopMatcher,
    /// Maximum number of tokens of the answer.
    pub(in crate::runtime) limit: usize,
    /// Number of answer tokens whose passes are submitted; 0 where the prompt has yet to be read.
    pub(in crate::runtime) submitted: usize,
    /// Number of answer tokens that were written before the device was lost.
    pub(in crate::runtime) rewritten: usize,
    pub(in crate::runtime) started: f64,
    pub(in crate::runtime) first: Option<f64>,
    pub(in crate::runtime) last: f64,
    pub(in crate::runtime) reason: Option<FinishReason>,
    /// Hears how much of the prompt is read, until all of it is.
    pub(in crate::runtime) listener: Option<Listener>,
    /// Whether it has heard that all is read.
    pub(in crate::runtime) is_told: bool,
}

impl Run {
    /// Makes a run whose prompt is cached up to `cached_tokens`, and which may write `limit` tokens. `now` is in
    /// milliseconds.
    pub(super) fn new(
        prompt: Vec<u32>,
        options: GenerateOptions,
        tokenizer: &Tokenizer,
        [cached_tokens, limit]: [usize; 2],
        now: f64,
    ) -> Self {
        Self {
            stream: TextStream::showing(tokenizer, &options.show_special),
            stops: StopMatcher::new(&options.stop),
            reason: (limit == 0).then_some(FinishReason::Length),
            prompt,
            source: options.source,
            cached_tokens,
            sampling: options.sampling,
            breakers: options.dry_sequence_breakers,
            biases: options.biases,
            logprobs: options.logprobs,
            drafting: options.drafting,
            prediction: tokenizer.encode(&options.prediction, false, false),
            ends: if options.ignore_eos { Vec::new() } else { tokenizer.end_of_generation_ids() },
            guide: None,
            limit,
            ids: Vec::new(),
            text: String::new(),
            piece: Piece::default(),
            submitted: 0,
            rewritten: 0,
            started: now,
            first: None,
            last: now,
            listener: None,
            is_told: false,
        }
    }

    /// Tells the listener, once, that all of the prompt is read.
    pub(in crate::runtime) fn tell_read(&mut self) {
        if let Some(listener) = self.listener.as_ref().filter(|_| !std::mem::replace(&mut self.is_told, true)) {
            listener(self.prompt.len());
        }
    }

    /// Tells a session how the run's tokens are chosen.
    pub(in crate::runtime) fn configure(&self, session: &mut impl Session, tokenizer: &Tokenizer) {
        let ids = RunIds {
            ends: &self.ends,
            suppressed: tokenizer.suppressed_ids(),
            biases: &self.biases,
            logits: self.logprobs.is_some(),
            drafting: self.drafting,
            prediction: &self.prediction,
        };
        if self.sampling.is_on_host() {
            // Another token than the session's may follow, so that no token ends the text there.
            let (logits, drafting) = (true, Drafting::Off);
            let ids = RunIds { ends: &[], suppressed: &[], biases: &[], logits, drafting, ..ids };
            return session.configure(&SamplingOptions::default(), &ids, &self.prompt);
        }
        session.configure(&self.sampling, &ids, &self.prompt);
    }

    /// The tokens of the prompt and of the answer so far, from a position on.
    pub(in crate::runtime) fn tokens_from(&self, position: usize) -> Vec<u32> {
        self.prompt.iter().chain(&self.ids).skip(position).copied().collect()
    }

    pub(in crate::runtime) fn end(&mut self, reason: FinishReason, piece: &mut Piece) {
        let rest = self.stream.flush();
        piece.text.push_str(&self.stops.push(&rest).text);
        piece.text.push_str(&self.stops.flush());
        self.reason = Some(reason);
    }

    /// Number of passes in flight that cover a wait of about 6 ms, by the time per token so far.
    pub(super) fn depth(&self) -> usize {
        let decoded = self.ids.len().saturating_sub(1);
        let Some(first) = self.first.filter(|_| decoded >= 4) else { return 4 };
        let per_token = (self.last - first) / decoded as f64;
        ((6.0 / per_token.max(0.1)).ceil() as usize).clamp(2, 16)
    }
}
