//! The loop from ids to tokens and text.
//!
//! A run feeds the part of the prompt that the KV cache lacks, then takes tokens as they come. On the GPU several
//! tokens are in flight: waiting for one costs about 2.6 ms in a browser whatever the work, so their number is chosen
//! from the measured time per token to keep the GPU busy during a wait. Tokens past a stop are thrown away: the next
//! run's `feed` drops them.

use std::rc::Rc;

use super::engine::Engine;
use super::guide::{Compiling, Progress};
use super::logprobs::ChosenToken;
use super::outcome::{FinishReason, Outcome, Piece};
use super::request::GenerateOptions;
use super::state::Run;
use crate::runtime::session::{Listener, Session};
use crate::tokenizer::Tokenizer;
use crate::{Error, ErrorCode, Result};

impl<S: Session> Engine<S> {
    /// Makes an engine with nothing cached.
    pub fn new(session: S, tokenizer: Tokenizer) -> Self {
        Self {
            session,
            tokenizer: Rc::new(tokenizer),
            stop: Rc::default(),
            cached: Vec::new(),
            asked: 0,
            private_from: usize::MAX,
            cached_with: Vec::new(),
            source: Vec::new(),
            rows: Vec::new(),
            run: None,
            norm: None,
        }
    }

    /// Starts a run; returns how many tokens of `prompt` are cached. `now` is in milliseconds.
    ///
    /// # Errors
    /// `invalid_argument` while a run is on, for an empty prompt or one that ends with a row, for unknown ids or
    /// adapters, and for wrong options; `context_full` where the prompt leaves no room for an answer.
    pub fn start(&mut self, prompt: Vec<u32>, options: GenerateOptions, now: f64) -> Result<usize> {
        self.check_idle()?;
        self.check_request(&prompt, &options)?;
        let room = self.session.context_length() - prompt.len();
        let limit = options.max_tokens.unwrap_or(room).min(room);
        let adapters = self.adapters_of(&options.adapters, &prompt)?;
        if self.source != options.source {
            // The cache attends to the old one. The run reads the new one before its prompt.
            self.empty();
            self.source.clear();
        }
        let same = self.cached_of(&prompt, &adapters);
        // The last token of the prompt is run again, since its logits choose the first token of the answer.
        let cached_tokens = self.session.rewind(same.min(prompt.len() - 1));
        self.cached.truncate(cached_tokens);
        self.asked = prompt.len();
        self.private_from = if options.is_private { self.private_from.min(cached_tokens) } else { usize::MAX };
        self.read_with(adapters);
        self.stop.set(false);
        let run = Run::new(prompt, options, &self.tokenizer, [cached_tokens, limit], now);
        run.configure(&mut self.session, &self.tokenizer);
        self.run = Some(Box::new(run));
        Ok(cached_tokens)
    }

    fn check_request(&self, prompt: &[u32], options: &GenerateOptions) -> Result<()> {
        options.sampling.validate()?;
        self.check_ids(prompt)?;
        self.check_source(&options.source)?;
        let vocab = self.session.config().vocab;
        if let Some(&(id, _)) = options.biases.iter().find(|(id, _)| *id as usize >= vocab) {
            return Err(Error::invalid_argument(format!("logitBias of id {id}, the vocabulary has {vocab}")));
        }
        if prompt.last().is_some_and(|&id| self.session.knows_row(id)) && !options.follows_row {
            return Err(Error::invalid_argument("the prompt ends with a row, expected a token that an answer follows"));
        }
        let context = self.session.context_length();
        if prompt.len() >= context {
            let message = format!(
                "the prompt has {} tokens, the context holds {context} and needs room for an answer",
                prompt.len()
            );
            return Err(Error::new(ErrorCode::ContextFull, message));
        }
        Ok(())
    }

    /// Checks that there is a source where the model attends to one, and only there.
    fn check_source(&self, source: &[u32]) -> Result<()> {
        let config = self.session.config();
        match (config.t5.decoder, source) {
            (Some(_), []) => return Err(Error::invalid_argument("the model attends to a source, and has none")),
            (None, [_, ..]) => return Err(Error::invalid_argument("the model has no encoder that reads a source")),
            (None, []) => return Ok(()),
            (Some(_), _) => {}
        }
        let (count, context) = (source.len(), self.session.context_length());
        if count > context {
            let message = format!("the source has {count} tokens, the context holds {context}");
            return Err(Error::new(ErrorCode::ContextFull, message));
        }
        match source.iter().find(|&&id| id as usize >= config.vocab) {
            Some(id) => {
                Err(Error::invalid_argument(format!("id {id} of the source, the vocabulary has {}", config.vocab)))
            }
            None => Ok(()),
        }
    }

    /// Reads the source of the run, where it is not read yet. False where the run was stopped meanwhile.
    async fn read_source(&mut self, run: &Run) -> Result<bool> {
        if self.source != run.source {
            if !self.session.read_source(&run.source, &self.stop).await? {
                return Ok(false);
            }
            self.source.clone_from(&run.source);
        }
        Ok(true)
    }

    /// Makes the started run follow a grammar. Must come before the first call of [`Engine::next`].
    pub fn constrain(&mut self, grammar: Compiling) {
        if let Some(run) = &mut self.run {
            run.guide = Some(Progress::Compiling(grammar));
        }
    }

    /// Waits for the next tokens; `None` when the run has ended.
    ///
    /// # Errors
    /// Errors of the device and of the grammar; `bad_file` where every logit is NaN. The cache is empty then, except
    /// where memory for more tokens was missing. The run ends; only after `device_lost` can it go on, once the engine
    /// has [another session](Engine::recover).
    pub async fn next(&mut self, clock: impl Fn() -> f64) -> Result<Option<Piece>> {
        let Some(mut run) = self.run.take() else { return Ok(None) };
        let outcome = self.advance(&mut run, clock).await;
        let code = outcome.as_ref().err().map(Error::code);
        if code.is_some() || self.cached.len() >= run.prompt.len() {
            self.rows.clear();
        }
        if code.is_none() && !self.stop.get() {
            run.tell_read();
        }
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
        if run.reason.is_some() || self.stop.get() || !self.read_source(run).await? {
            return Ok(None);
        }
        let mut piece = std::mem::take(&mut run.piece);
        let is_on_host = run.sampling.is_on_host();
        let outcome = match run.guide.take() {
            Some(_) if is_on_host => {
                Err(Error::invalid_argument("dryMultiplier and xtcProbability do not go with a grammar, set them to 0"))
            }
            None if is_on_host => self.advance_chosen(run, &mut piece, clock).await,
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

    /// Adds the next tokens of a run without a grammar to `piece`; false where the run was stopped before.
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

    /// Keeps enough passes in flight for the GPU to have work during a wait.
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

    /// Checks the token that sampling gave: it is none where every logit is NaN.
    pub(in crate::runtime) fn check_token(&self, id: u32) -> Result<()> {
        if (id as usize) < self.session.config().vocab {
            return Ok(());
        }
        Err(Error::bad_file(
            "every logit of a token is NaN: the file holds weights that are none, or an activation overflowed, as with \
             an adapter whose scale or values are too large; if the browser stores the file, `WasmModel.cache.delete` \
             removes it, and the next load fetches it again",
        ))
    }

    /// Adds a token to the answer.
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

    /// Ends the run, even if it is not complete, and returns its outcome.
    pub fn finish(&mut self) -> Result<Outcome> {
        let run = self.run.take().ok_or_else(|| Error::invalid_argument("no generation is running"))?;
        self.rest();
        self.stop.set(false);
        let first = run.first.unwrap_or(run.started);
        let [drafted, right] = self.session.drafts();
        // Some draft tokens of the last pass may have come after the end.
        let accepted_drafts = right.min(run.ids.len().saturating_sub(1));
        Ok(Outcome {
            reason: run.reason.unwrap_or(FinishReason::Abort),
            text: run.text + &run.piece.text,
            ids: run.ids,
            prompt_tokens: run.source.len() + run.prompt.len(),
            cached_tokens: run.cached_tokens,
            accepted_drafts,
            rejected_drafts: drafted.saturating_sub(accepted_drafts),
            first_token_ms: first - run.started,
            decode_ms: run.last - first,
        })
    }

    /// Tells `listener` how many tokens of the started run's prompt are read, after each pass over it.
    pub fn listen(&mut self, listener: Listener) {
        if let Some(run) = &mut self.run {
            self.session.set_listener(Some(listener.clone()));
            run.listener = Some(listener);
        }
    }

    fn rest(&mut self) {
        self.rows.clear();
        self.session.set_listener(None);
        let held = self.session.rest();
        self.cached.truncate(held);
    }

    /// Empties the KV cache.
    pub(super) fn empty(&mut self) {
        self.cached.clear();
        self.session.rewind(0);
    }

    /// Drops the KV cache and any run.
    pub fn reset(&mut self) {
        self.run = None;
        self.rest();
        self.cached.clear();
    }

    pub(in crate::runtime) fn check_idle(&self) -> Result<()> {
        match self.run {
            Some(_) => Err(Error::invalid_argument("a generation is running: finish or cancel it first")),
            None => Ok(()),
        }
    }

    pub(super) fn check_ids(&self, ids: &[u32]) -> Result<()> {
        let vocab = self.session.config().vocab;
        if ids.is_empty() {
            return Err(Error::invalid_argument("the prompt has no tokens"));
        }
        match ids.iter().position(|&id| id as usize >= vocab && !self.session.knows_row(id)) {
            Some(at) => {
                Err(Error::invalid_argument(format!("id {} at {at} is not in the vocabulary of {vocab}", ids[at])))
            }
            None => Ok(()),
        }
    }
}
