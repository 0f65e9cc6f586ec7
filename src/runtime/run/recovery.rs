//! Recovery from a lost device: an engine goes on with another session of the same model.

use super::engine::Engine;
use super::guide::Progress;
use super::state::Run;
use crate::model::ModelConfig;
use crate::runtime::embed::{AnyEmbedder, EmbedEngine};
use crate::runtime::session::{FEW, Session};
use crate::{Error, ErrorCode, Result};

impl<S: Session> Engine<S> {
    /// Goes on with `session`, whose cache is empty. A current run keeps its answer; prompt and answer are read again
    /// at the next piece. `now` is in milliseconds.
    ///
    /// # Errors
    /// `integrity_failed` where the session is that of another model.
    pub fn recover(&mut self, session: S, now: f64) -> Result<()> {
        same_model(session.config(), self.session.config())?;
        self.session = session;
        self.cached.clear();
        self.source.clear();
        self.rows.clear();
        self.read_with(self.cached_with.clone());
        if let Some(run) = &mut self.run {
            self.session.set_listener(run.listener.clone());
            run.configure(&mut self.session, &self.tokenizer);
            self.session.resume(&run.ids, true);
            run.start_again(now);
        }
        Ok(())
    }
}

impl Run {
    /// How many tokens to read at once from `position` on. If reading many at once rounds, tokens of the answer from
    /// before the device was lost are read few at a time, as they were written, so that the same text follows.
    pub(in crate::runtime) fn read_at_once(&self, position: usize, rounds: bool) -> usize {
        let (answer, end) = (self.prompt.len(), self.prompt.len() + self.rewritten);
        match position {
            at if !rounds || at >= end => usize::MAX,
            at if at < answer => answer - at,
            at => FEW.min(end - at),
        }
    }

    fn start_again(&mut self, now: f64) {
        self.submitted = 0;
        self.is_told = false;
        self.rewritten = self.ids.len();
        if let Some(Progress::Ready(guide)) = &mut self.guide {
            guide.start_again();
        }
        // The time without a device does not count.
        let pause = now - self.last;
        self.started += pause;
        self.first = self.first.map(|first| first + pause);
        self.last = now;
    }
}

impl EmbedEngine {
    /// Goes on with `embedder`.
    ///
    /// # Errors
    /// `integrity_failed` where the embedder is that of another model.
    pub fn recover(&mut self, embedder: AnyEmbedder) -> Result<()> {
        same_model(embedder.config(), self.embedder.config())?;
        embedder.share_row_ids(self.embedder.row_ids());
        self.embedder = embedder;
        self.rows.clear();
        Ok(())
    }
}

fn same_model(found: &ModelConfig, expected: &ModelConfig) -> Result<()> {
    let other = || Error::new(ErrorCode::IntegrityFailed, "the source holds another model now");
    (found == expected).then_some(()).ok_or_else(other)
}
