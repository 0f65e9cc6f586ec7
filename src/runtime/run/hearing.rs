//! Writes while it hears: a row of a sound is added to the embedding of each token. Pages that load no encoder do not
//! have this code: it belongs to a part of the WebAssembly (`tools/modules.mjs`).

use std::pin::Pin;

use super::engine::Engine;
use super::logprobs::ChosenToken;
use crate::runtime::any::AnySession;
use crate::runtime::plan::Plan;
use crate::runtime::session::{RunIds, Session, Token};
use crate::sampler::SamplingOptions;
use crate::{Error, ErrorCode, Result};

/// A token that was chosen, and how likely it was, where that was asked for.
pub type Likeliest = (Token, Option<ChosenToken>);
/// A token that is being chosen.
pub type Heard<'a> = Pin<Box<dyn Future<Output = Result<Option<Likeliest>>> + 'a>>;

impl Engine {
    /// Reads the last of `ids`, as many as there are `tokens`, and gives the likeliest token behind them. They stand
    /// for these tokens, to the embeddings of which `rows` are added, `[tokens, hidden]`: ids of rows that are in no
    /// other text. Ids before must be cached. With `logprobs` also how likely the token was, and this number of the
    /// likeliest ones. `None` where `stop` was set meanwhile; it is not reset here.
    ///
    /// # Errors
    /// `invalid_argument` while a run is on, for a model that does not hear so, for ids before that are not cached, for
    /// unknown ids and tokens, and for another number of values; `context_full`; `bad_file` where every logit is NaN;
    /// errors of the device.
    pub fn hear<'a>(
        &'a mut self,
        ids: &'a [u32],
        tokens: &'a [u32],
        rows: &'a [f32],
        logprobs: Option<usize>,
    ) -> Heard<'a> {
        Box::pin(self.likeliest_behind(ids, (tokens, rows), logprobs))
    }

    async fn likeliest_behind(
        &mut self,
        ids: &[u32],
        (tokens, rows): (&[u32], &[f32]),
        logprobs: Option<usize>,
    ) -> Result<Option<Likeliest>> {
        self.check_heard(ids, tokens, rows)?;
        let known = ids.len() - tokens.len();
        if self.session.rewind(known) != known || known == 0 {
            self.empty();
            self.read_with(Vec::new());
        }
        self.cached.truncate(known);
        let options = SamplingOptions { temperature: 0.0, ..SamplingOptions::default() };
        let ends = self.tokenizer.end_of_generation_ids();
        let wanted = RunIds { ends: &ends, logits: logprobs.is_some(), ..RunIds::default() };
        self.session.configure(&options, &wanted, &[]);
        let found = self.read_heard(ids, tokens, rows).await;
        let logits = self.session.take_logits();
        self.session.rest();
        self.put_beside(&vec![0.0; rows.len() / tokens.len()]).await?;
        let Some(token) = found? else { return Ok(None) };
        self.check_token(token.id)?;
        let likely = logits.zip(logprobs).map(|(logits, count)| ChosenToken::new(token.id, &logits, count));
        Ok(Some((token, likely)))
    }

    /// Row by row: a pass may have several, and a list of its own.
    async fn read_heard(&mut self, ids: &[u32], tokens: &[u32], rows: &[f32]) -> Result<Option<Token>> {
        let first = ids.len() - tokens.len();
        for (at, row) in rows.chunks_exact(rows.len() / tokens.len()).enumerate() {
            self.put_beside(row).await?;
            let (token, position) = (&tokens[at..=at], first + at);
            let read = match at + 1 == tokens.len() {
                true => self.session.feed(token, position, &self.stop).await?,
                false => self.session.read(token, position, &self.stop).await?,
            };
            if read == 0 {
                return Ok(None);
            }
            self.cached.push(ids[position]);
        }
        self.session.next().await
    }

    /// The row that is added to the token of the next pass.
    async fn put_beside(&mut self, row: &[f32]) -> Result<()> {
        match &mut self.session {
            AnySession::Cpu(session) => session.model.put_beside(row),
            AnySession::Gpu(lane) => {
                let mut session = lane.turn().await?;
                let Some(x) = session.model.program.beside() else { return Ok(()) };
                let slice = session.buffers.places.embed.of(x).slice;
                let mut plan = Plan::default();
                plan.write_at(slice, 0, bytemuck::cast_slice(row));
                session.gpu.execute(&plan)?;
            }
        }
        Ok(())
    }

    fn check_heard(&self, ids: &[u32], tokens: &[u32], rows: &[f32]) -> Result<()> {
        self.check_idle()?;
        let (config, context) = (self.session.config(), self.session.context_length());
        let is_fit = config.delay.is_some() && rows.len() == tokens.len() * config.hidden;
        let is_known = tokens.iter().all(|&token| (token as usize) < config.vocab) && !tokens.is_empty();
        let is_next = ids.len() >= tokens.len() && self.common_prefix(ids) + tokens.len() >= ids.len();
        if !is_fit || !is_known || !is_next {
            return Err(Error::invalid_argument("the model cannot hear these rows with these tokens"));
        }
        if matches!(&self.session, AnySession::Gpu(lane) if !lane.is_alone()) {
            return Err(Error::invalid_argument("option 'parallel': a model that writes while it hears takes none"));
        }
        if ids.len() > context {
            let message = format!("a sound of {} rows, the context holds {context}", ids.len());
            return Err(Error::new(ErrorCode::ContextFull, message));
        }
        self.check_ids(ids)
    }
}
