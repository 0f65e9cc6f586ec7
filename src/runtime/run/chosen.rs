//! Texts whose tokens are chosen here, from the logits that the session gives: with DRY and XTC, which look at the text
//! and at all likely tokens. It is one token at a time.

use super::engine::Engine;
use super::logprobs::ChosenToken;
use super::outcome::{FinishReason, Piece};
use super::state::Run;
use crate::runtime::session::Session;
use crate::sampler::{add_biases, choose, count_answer, counts_of_prompt, dry};
use crate::tokenizer::Tokenizer;
use crate::{Error, ErrorCode, Result};

impl<S: Session> Engine<S> {
    /// Adds the next token of a run without a grammar to `piece`; false where the run was stopped before.
    pub(in crate::runtime) async fn advance_chosen(
        &mut self,
        run: &mut Run,
        piece: &mut Piece,
        clock: impl Fn() -> f64,
    ) -> Result<bool> {
        self.session.resume(&run.ids, false);
        if !self.read_missing(run).await? {
            return Ok(false);
        }
        self.session.step()?;
        let Some(token) = self.session.next().await? else {
            return Err(Error::new(ErrorCode::DeviceLost, "a token was asked for and none is in flight"));
        };
        self.check_token(token.id)?;
        let logits = self.session.take_logits().unwrap_or_default();
        let id = run.choose(logits.clone(), &self.tokenizer).unwrap_or(token.id);
        if run.ends.contains(&id) {
            run.end(FinishReason::Stop, piece);
            return Ok(true);
        }
        if let Some(count) = run.logprobs {
            piece.tokens.push(ChosenToken::new(id, &logits, count));
        }
        self.accept(run, id, piece, clock());
        Ok(true)
    }
}

impl Run {
    fn choose(&self, mut logits: Vec<f32>, tokenizer: &Tokenizer) -> Option<u32> {
        add_biases(&mut logits, &self.biases);
        let mut counts = counts_of_prompt(logits.len(), &self.prompt, tokenizer.suppressed_ids());
        count_answer(&mut counts, &self.ids);
        let bytes = |id| tokenizer.token_bytes(id).unwrap_or_default();
        let free = |text: &[u32]| match &self.breakers {
            Some(breakers) => dry::since_breaker(text, bytes, breakers),
            None => dry::since_breaker(text, bytes, dry::BREAKERS),
        };
        let change = |logits: &mut [f32]| dry::apply(logits, &self.tokens_from(0), &self.sampling, free);
        choose(logits, &counts, change, &self.sampling, self.ids.len() as u32)
    }
}
