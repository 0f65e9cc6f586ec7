//! The prefix cache: before a session reads another text, it keeps what it would lose of this one, and takes what is
//! kept of the other.

pub(super) mod tree;

use super::any::AnySession;
use super::run::engine::Engine;
use super::session::{AdapterUse, Session};
use crate::Result;
use tree::{Found, TextRead};

/// Tokens of a prompt that would have to be read again: for fewer a text is not kept. They take a pass.
const LEAST: usize = 128;

/// Tokens by which a kept text must be ahead of the session's own.
const WORTH: usize = 32;

impl Engine {
    /// What is kept of a prompt, where that is more than this session has of it.
    pub fn kept_of(&self, ids: &[u32], adapters: &[AdapterUse]) -> Option<Found> {
        let AnySession::Gpu(lane) = &self.session else { return None };
        let least = self.cached_of(ids, adapters) + WORTH;
        let found = lane.find_prefix(TextRead { ids, with: adapters }).filter(|found| found.tokens >= least);
        found.filter(|_| self.source.is_empty())
    }

    /// Keeps what this session has read, where a run over `ids` would lose much of a prompt. An answer alone is none:
    /// a conversation that goes on without thoughts, or with another answer, begins like the last prompt.
    ///
    /// # Errors
    /// `device_lost`.
    pub async fn keep_before(&mut self, ids: &[u32], adapters: &[AdapterUse], wanted: Option<&Found>) -> Result<()> {
        let may_be_kept = self.cached.len().min(self.private_from);
        let lost = self.asked.min(may_be_kept).saturating_sub(self.cached_of(ids, adapters));
        let is_known = |of: &AdapterUse| self.session.invocation(of.id).is_some();
        if lost < LEAST || self.run.is_some() || !self.source.is_empty() || !self.cached_with.iter().all(is_known) {
            return Ok(());
        }
        let AnySession::Gpu(lane) = &mut self.session else { return Ok(()) };
        if lane.model().prefixes.budget() == 0 {
            return Ok(());
        }
        // As the next run would, first make tokens and states end at the same position.
        let reached = lane.rewind(may_be_kept);
        self.cached.truncate(reached);
        if reached < LEAST {
            return Ok(());
        }
        lane.keep_prefix(TextRead { ids: &self.cached, with: &self.cached_with }, self.asked, wanted).await
    }

    /// Goes on from a kept text.
    ///
    /// # Errors
    /// `device_lost`; the session is empty then.
    pub async fn take_kept(&mut self, found: &Found) -> Result<()> {
        let AnySession::Gpu(lane) = &self.session else { return Ok(()) };
        let taken = match lane.take_prefix(found).await {
            Ok(Some((ids, with))) => lane.write_places(&ids).map(|()| (ids, with)),
            Ok(None) => return Ok(()),
            Err(error) => Err(error),
        };
        match taken {
            Ok(taken) => (self.cached, self.cached_with) = taken,
            Err(error) => {
                self.cached.clear();
                return Err(error);
            }
        }
        self.private_from = usize::MAX;
        Ok(())
    }
}
