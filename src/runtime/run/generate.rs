//! The loop: ids in, tokens and text out. The only file that sees both ends.
//!
//! A run feeds the part of the prompt that the KV cache does not hold yet, then takes tokens as they come. On the GPU
//! several tokens are in flight: waiting for one costs about 2.6 ms in a browser whatever the work, so the depth is
//! chosen from the measured time per token to keep the GPU busy across a wait. Tokens past a stop are thrown away: the
//! next run's `feed` drops them.

use std::cell::Cell;
use std::rc::Rc;

use super::constraint::{Compiling, Progress};
use super::logprobs::ChosenToken;
#[cfg(target_arch = "wasm32")]
use crate::gpu::{Buffer, Device};
use crate::runtime::adapters::AdapterUse;
use crate::runtime::gpu::drafts::Drafting;
use crate::runtime::session::{AnySession, RunIds, Session};
use crate::sampler::SamplingOptions;
use crate::tokenizer::{StopMatcher, TextStream, Tokenizer};
use crate::{Error, ErrorCode, Result};

/// What a run may do. By default the likeliest tokens, to the end of the text or the context.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct GenerateOptions {
    /// Tokens of the answer, at most; `None` goes on until the context is full.
    pub max_tokens: Option<usize>,
    /// How tokens are chosen.
    pub sampling: SamplingOptions,
    /// (id, bias): added to the logits of the id.
    pub biases: Vec<(u32, f32)>,
    /// How likely each token was is wanted, with so many that were most likely in its place.
    pub logprobs: Option<usize>,
    /// Strings that end the answer and are not part of it.
    pub stop: Vec<String>,
    /// Whether end-of-generation tokens are tokens like any other.
    pub ignore_eos: bool,
    /// Control tokens that the text shows by their names, which it otherwise leaves out.
    pub show_special: Vec<String>,
    /// (number, scale) of the adapters that the text is read and written with.
    pub adapters: Vec<(u32, f32)>,
    /// Where drafts of the tokens come from ...
    pub drafting: Drafting,
    /// ... besides the text: what much of it may be like.
    pub prediction: String,
}

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

/// A model, its tokenizer and the run that is on.
pub struct Engine<S = AnySession> {
    /// Where the model runs.
    pub session: S,
    /// Text ↔ ids.
    pub tokenizer: Rc<Tokenizer>,
    /// Set by whoever wants the run to end: it then ends at the next piece, also within a long prompt. Cleared when a
    /// run starts and when it is finished.
    pub stop: Rc<Cell<bool>>,
    /// Tokens that the KV cache holds.
    pub(in crate::runtime) cached: Vec<u32>,
    /// The adapters that these were read with.
    pub(in crate::runtime) cached_with: Vec<AdapterUse>,
    pub(in crate::runtime) run: Option<Box<Run>>,
}

pub(in crate::runtime) struct Run {
    pub(in crate::runtime) prompt: Vec<u32>,
    cached_tokens: usize,
    pub(in crate::runtime) ids: Vec<u32>,
    sampling: SamplingOptions,
    biases: Vec<(u32, f32)>,
    pub(in crate::runtime) logprobs: Option<usize>,
    drafting: Drafting,
    prediction: Vec<u32>,
    /// Tokens that end it.
    pub(in crate::runtime) ends: Vec<u32>,
    /// The grammar that it follows.
    pub(in crate::runtime) guide: Option<Progress>,
    text: String,
    /// What came before an error that the run may outlive.
    piece: Piece,
    stream: TextStream,
    stops: StopMatcher,
    /// Tokens that may be sampled, at most.
    pub(in crate::runtime) limit: usize,
    /// Passes submitted that sample a token of this run; 0 where the prompt has yet to be read.
    pub(in crate::runtime) submitted: usize,
    /// Tokens of the answer that were written on a device that was lost.
    pub(in crate::runtime) rewritten: usize,
    pub(in crate::runtime) started: f64,
    pub(in crate::runtime) first: Option<f64>,
    pub(in crate::runtime) last: f64,
    pub(in crate::runtime) reason: Option<FinishReason>,
}

impl<S: Session> Engine<S> {
    /// An engine with nothing cached.
    pub fn new(session: S, tokenizer: Tokenizer) -> Self {
        Self {
            session,
            tokenizer: Rc::new(tokenizer),
            stop: Rc::default(),
            cached: Vec::new(),
            cached_with: Vec::new(),
            run: None,
        }
    }

    /// Starts a run; returns how many tokens of `prompt` the cache holds. `now` is in milliseconds.
    ///
    /// # Errors
    /// `invalid_argument` while a run is on, for an empty prompt, unknown ids or wrong options; `context_full` where
    /// the prompt leaves no room for an answer.
    pub fn start(&mut self, prompt: Vec<u32>, options: GenerateOptions, now: f64) -> Result<usize> {
        self.check_idle()?;
        options.sampling.validate()?;
        let context = self.session.context_length();
        self.check_ids(&prompt)?;
        if let Some(&(id, _)) = options.biases.iter().find(|(id, _)| *id as usize >= self.session.config().vocab) {
            return Err(Error::invalid_argument(format!(
                "logitBias of id {id}, the vocabulary has {}",
                self.session.config().vocab
            )));
        }
        if prompt.last().is_some_and(|&id| self.session.holds_row(id)) {
            return Err(Error::invalid_argument("the prompt ends with a row, expected a token that an answer follows"));
        }
        if prompt.len() >= context {
            let message = format!(
                "the prompt has {} tokens, the context holds {context} and needs room for an answer",
                prompt.len()
            );
            return Err(Error::new(ErrorCode::ContextFull, message));
        }
        let room = context - prompt.len();
        let limit = options.max_tokens.unwrap_or(room).min(room);
        let adapters = self.adapters_of(&options.adapters, &prompt)?;
        let same = self.cached_of(&prompt, &adapters);
        // The last token of the prompt is run again: its logits choose the first token of the answer.
        let cached_tokens = self.session.rewind(same.min(prompt.len() - 1));
        self.cached.truncate(cached_tokens);
        self.read_with(adapters);
        let ends = if options.ignore_eos { Vec::new() } else { self.tokenizer.end_of_generation_ids() };
        self.stop.set(false);
        let run = Run {
            stream: TextStream::showing(&self.tokenizer, &options.show_special),
            stops: StopMatcher::new(&options.stop),
            reason: (limit == 0).then_some(FinishReason::Length),
            prompt,
            cached_tokens,
            sampling: options.sampling,
            biases: options.biases,
            logprobs: options.logprobs,
            drafting: options.drafting,
            prediction: self.tokenizer.encode(&options.prediction, false, false),
            ends,
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
        };
        run.configure(&mut self.session, &self.tokenizer);
        self.run = Some(Box::new(run));
        Ok(cached_tokens)
    }

    /// Makes the run that was started follow a grammar. Nothing of it may have been asked for yet.
    pub fn constrain(&mut self, grammar: Compiling) {
        if let Some(run) = &mut self.run {
            run.guide = Some(Progress::Compiling(grammar));
        }
    }

    /// The next tokens, once there are any; `None` when the run has ended.
    ///
    /// # Errors
    /// Those of the device. The cache is then empty, except where memory for more tokens was missing. The run ends;
    /// after `device_lost` it can go on once the engine has [another session](Engine::recover).
    pub async fn next(&mut self, clock: impl Fn() -> f64) -> Result<Option<Piece>> {
        let Some(mut run) = self.run.take() else { return Ok(None) };
        let outcome = self.advance(&mut run, clock).await;
        let code = outcome.as_ref().err().map(Error::code);
        if !matches!(code, None | Some(ErrorCode::OutOfMemory)) {
            self.cached.clear();
        }
        if code.is_some() {
            self.rest();
        }
        self.run = Some(run).filter(|_| matches!(code, None | Some(ErrorCode::DeviceLost)));
        outcome
    }

    async fn advance(&mut self, run: &mut Run, clock: impl Fn() -> f64) -> Result<Option<Piece>> {
        if run.reason.is_some() || self.stop.get() {
            return Ok(None);
        }
        let mut piece = std::mem::take(&mut run.piece);
        let outcome = match run.guide.take() {
            Some(guide) => self.advance_guided(run, guide, &mut piece, clock).await,
            None => self.advance_free(run, &mut piece, clock).await,
        };
        match outcome {
            Ok(is_on) => {
                run.text.push_str(&piece.text);
                Ok((is_on || !piece.ids.is_empty()).then_some(piece))
            }
            Err(error) => {
                run.piece = piece;
                Err(error)
            }
        }
    }

    /// Adds the next tokens of a run without a grammar to `piece`; false where it was stopped before.
    async fn advance_free(&mut self, run: &mut Run, piece: &mut Piece, clock: impl Fn() -> f64) -> Result<bool> {
        if run.rewritten > 0 && run.submitted == 0 {
            if self.read_missing(run).await? && self.session.step()? {
                run.submitted = run.ids.len() + 1;
            }
        } else if run.submitted == 0 {
            let position = self.cached.len();
            let new = run.tokens_from(position);
            let fed = self.session.feed(&new, position, &self.stop).await?;
            self.cached.extend_from_slice(&new[..fed]);
            run.submitted = usize::from(fed == new.len());
        }
        if self.stop.get() {
            return Ok(false);
        }
        let mut wait = piece.ids.is_empty();
        loop {
            self.top_up(run)?;
            let next = match wait {
                true => self.session.next().await?,
                false => self.session.next_if_ready()?,
            };
            let Some(token) = next else {
                if wait {
                    return Err(Error::new(ErrorCode::DeviceLost, "a token was asked for and none is in flight"));
                }
                break;
            };
            wait = false;
            self.take(run, token.id, token.end, piece, clock())?;
            if run.reason.is_some() {
                break;
            }
        }
        Ok(true)
    }

    /// Keeps enough passes in flight that the GPU has work while we wait.
    fn top_up(&mut self, run: &mut Run) -> Result<()> {
        let depth = run.depth();
        while run.submitted < run.limit && self.session.in_flight() < depth && self.session.step()? {
            run.submitted += 1;
        }
        Ok(())
    }

    fn take(&mut self, run: &mut Run, id: u32, end: bool, piece: &mut Piece, now: f64) -> Result<()> {
        self.check_token(id)?;
        run.first.get_or_insert(now);
        run.last = now;
        // The pass that gave this token has read the one before.
        self.cache_up_to(run, run.prompt.len() + run.ids.len());
        if end {
            run.end(FinishReason::Stop, piece);
            return Ok(());
        }
        self.accept(run, id, piece, now);
        Ok(())
    }

    /// Refuses what sampling gives where there is nothing to choose from.
    pub(in crate::runtime) fn check_token(&self, id: u32) -> Result<()> {
        if (id as usize) < self.session.config().vocab {
            return Ok(());
        }
        Err(Error::bad_file(
            "every logit of a token is NaN: the file holds weights that are none, or an activation overflowed; \
             if the browser stores the file, `WasmModel.cache.delete` removes it, and the next load fetches it again",
        ))
    }

    /// Makes a token part of the answer.
    pub(in crate::runtime) fn accept(&mut self, run: &mut Run, id: u32, piece: &mut Piece, now: f64) {
        run.first.get_or_insert(now);
        run.last = now;
        run.ids.push(id);
        piece.ids.push(id);
        if let Some((logits, count)) = self.session.take_logits().zip(run.logprobs) {
            piece.tokens.push(ChosenToken::new(id, &logits, count));
        }
        let text = run.stream.push(&self.tokenizer, id);
        let status = run.stops.push(&text);
        piece.text.push_str(&status.text);
        if status.stopped.is_some() {
            run.reason = Some(FinishReason::Stop);
        } else if run.ids.len() >= run.limit {
            run.end(FinishReason::Length, piece);
        }
    }

    /// Ends the run, also one that is not through, and gives what came of it.
    pub fn finish(&mut self) -> Result<Outcome> {
        let run = self.run.take().ok_or_else(|| Error::invalid_argument("no generation is running"))?;
        self.rest();
        self.stop.set(false);
        let first = run.first.unwrap_or(run.started);
        let [drafted, right] = self.session.drafts();
        // Of the last pass some may come after the end.
        let accepted_drafts = right.min(run.ids.len().saturating_sub(1));
        Ok(Outcome {
            reason: run.reason.unwrap_or(FinishReason::Abort),
            text: run.text + &run.piece.text,
            ids: run.ids,
            prompt_tokens: run.prompt.len(),
            cached_tokens: run.cached_tokens,
            accepted_drafts,
            rejected_drafts: drafted.saturating_sub(accepted_drafts),
            first_token_ms: first - run.started,
            decode_ms: run.last - first,
        })
    }

    fn rest(&mut self) {
        let held = self.session.rest();
        self.cached.truncate(held);
    }

    /// Logits `[ids, vocab]` of forced decoding from an empty cache, handed to `each` a few rows at a time:
    /// (index of the first row's id, rows). False where `stop` was set meanwhile; it is not reset here.
    ///
    /// # Errors
    /// `invalid_argument` while a run is on or for unknown ids; `context_full` where the ids do not fit.
    pub async fn evaluate(&mut self, ids: &[u32], each: impl FnMut(usize, &[f32])) -> Result<bool> {
        self.evaluate_with(ids, &[], each).await
    }

    /// The same with these adapters: number and scale of each.
    ///
    /// # Errors
    /// Those of [`Engine::evaluate`] and of [`Engine::adapters_of`].
    pub async fn evaluate_with(
        &mut self,
        ids: &[u32],
        adapters: &[(u32, f32)],
        mut each: impl FnMut(usize, &[f32]),
    ) -> Result<bool> {
        self.check_idle()?;
        self.check_ids(ids)?;
        let context = self.session.context_length();
        if ids.len() > context {
            let message = format!("{} tokens to evaluate, the context holds {context}", ids.len());
            return Err(Error::new(ErrorCode::ContextFull, message));
        }
        let adapters = self.adapters_of(adapters, ids)?;
        self.empty();
        self.read_with(adapters);
        let read = self.session.evaluate(ids, 0, &self.stop, &mut each).await?;
        self.cached.extend_from_slice(&ids[..read]);
        Ok(read == ids.len())
    }

    /// Leaves nothing in the KV cache.
    fn empty(&mut self) {
        self.cached.clear();
        self.session.rewind(0);
    }

    /// Forgets the KV cache and any run.
    pub fn reset(&mut self) {
        self.run = None;
        self.session.rest();
        self.cached.clear();
    }

    pub(in crate::runtime) fn check_idle(&self) -> Result<()> {
        match self.run {
            Some(_) => Err(Error::invalid_argument("a generation is running: finish or cancel it first")),
            None => Ok(()),
        }
    }

    fn check_ids(&self, ids: &[u32]) -> Result<()> {
        let vocab = self.session.config().vocab;
        if ids.is_empty() {
            return Err(Error::invalid_argument("the prompt has no tokens"));
        }
        match ids.iter().position(|&id| id as usize >= vocab && !self.session.holds_row(id)) {
            Some(at) => {
                Err(Error::invalid_argument(format!("id {} at {at} is not in the vocabulary of {vocab}", ids[at])))
            }
            None => Ok(()),
        }
    }
}

#[cfg(target_arch = "wasm32")]
impl Engine {
    /// Reads `ids` from an empty cache, and leaves the hidden states behind the last layer in `target`, a buffer of
    /// `device`: see [`crate::runtime::GpuLane::hidden_states`]. False where `stop` was set meanwhile; it is not reset
    /// here.
    ///
    /// # Errors
    /// `invalid_argument` while a run is on, for unknown ids, and where the model is not on that device; `context_full`
    /// where the ids do not fit.
    pub async fn hidden_states(&mut self, ids: &[u32], device: &Rc<Device>, target: &Buffer) -> Result<bool> {
        self.check_idle()?;
        self.check_ids(ids)?;
        let model = match &self.session {
            AnySession::Gpu(lane) => lane.model(),
            AnySession::Cpu(_) => return Err(Error::invalid_argument("the model runs on the CPU: it has no tensors")),
        };
        if !Rc::ptr_eq(model.device(), device) {
            return Err(Error::invalid_argument("the model is on another device: load it with the option 'gpu'"));
        }
        self.empty();
        self.read_with(Vec::new());
        let read = match &mut self.session {
            AnySession::Gpu(lane) => lane.hidden_states(ids, target, &self.stop).await?,
            AnySession::Cpu(_) => 0,
        };
        self.cached.extend_from_slice(&ids[..read]);
        Ok(read == ids.len())
    }
}

impl Run {
    /// Tells a session how the tokens are chosen.
    pub(in crate::runtime) fn configure(&self, session: &mut impl Session, tokenizer: &Tokenizer) {
        let ids = RunIds {
            ends: &self.ends,
            suppressed: tokenizer.suppressed_ids(),
            biases: &self.biases,
            logits: self.logprobs.is_some(),
            drafting: self.drafting,
            prediction: &self.prediction,
        };
        session.configure(&self.sampling, &ids, &self.prompt);
    }

    /// Those of the prompt and of the answer so far, from a position on.
    pub(in crate::runtime) fn tokens_from(&self, position: usize) -> Vec<u32> {
        self.prompt.iter().chain(&self.ids).skip(position).copied().collect()
    }

    pub(in crate::runtime) fn end(&mut self, reason: FinishReason, piece: &mut Piece) {
        let rest = self.stream.flush();
        piece.text.push_str(&self.stops.push(&rest).text);
        piece.text.push_str(&self.stops.flush());
        self.reason = Some(reason);
    }

    /// Passes in flight that cover a wait of about 6 ms, by the time per token so far.
    fn depth(&self) -> usize {
        let decoded = self.ids.len().saturating_sub(1);
        let Some(first) = self.first.filter(|_| decoded >= 4) else { return 4 };
        let per_token = (self.last - first) / decoded as f64;
        ((6.0 / per_token.max(0.1)).ceil() as usize).clamp(2, 16)
    }
}
