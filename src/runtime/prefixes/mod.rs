//! The prefix cache: before a session reads another text, it keeps what it would lose of this one, and takes what is
//! kept of the other.

pub(super) mod cpu;
pub(super) mod store;
pub(super) mod tree;

use super::any::AnySession;
use super::run::engine::Engine;
use super::session::{AdapterUse, Session};
use crate::Result;
use store::PrefixCache;
use tree::{Found, TextRead};

/// Tokens of a prompt that would have to be read again: for fewer a text is not kept. They take a pass.
const LEAST: usize = 128;

/// Tokens by which a kept text must be ahead of the session's own.
const WORTH: usize = 32;

impl Engine {
    /// This engine, whose model keeps at most this many bytes of what its sessions read.
    #[must_use]
    pub fn keeping(self, bytes: u64) -> Self {
        self.session.prefixes().set_budget(bytes);
        self
    }

    /// What is kept of a prompt, where that is more than this session has of it.
    pub fn kept_of(&self, ids: &[u32], adapters: &[AdapterUse]) -> Option<Found> {
        let least = self.cached_of(ids, adapters) + WORTH;
        let found = self.session.find_prefix(TextRead { ids, with: adapters }).filter(|found| found.tokens >= least);
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
        if self.session.prefixes().budget() == 0 {
            return Ok(());
        }
        // As the next run would, first make tokens and states end at the same position.
        let reached = self.session.rewind(may_be_kept);
        self.cached.truncate(reached);
        if reached < LEAST {
            return Ok(());
        }
        let text = TextRead { ids: &self.cached, with: &self.cached_with };
        match &mut self.session {
            AnySession::Gpu(lane) => lane.keep_prefix(text, self.asked, wanted).await,
            AnySession::Cpu(session) => {
                session.keep_prefix(text, self.asked, wanted);
                Ok(())
            }
        }
    }

    /// Goes on from a kept text.
    ///
    /// # Errors
    /// `device_lost`; the session is empty then.
    pub async fn take_kept(&mut self, found: &Found) -> Result<()> {
        match self.session.take_prefix(found).await {
            Ok(Some(taken)) => (self.cached, self.cached_with) = taken,
            Ok(None) => return Ok(()),
            Err(error) => {
                self.cached.clear();
                return Err(error);
            }
        }
        self.private_from = usize::MAX;
        Ok(())
    }
}

impl AnySession {
    /// What is kept of the texts that the sessions of this model have read.
    pub fn prefixes(&self) -> &dyn PrefixCache {
        match self {
            Self::Gpu(lane) => &lane.model().prefixes,
            Self::Cpu(session) => &*session.prefixes,
        }
    }

    fn find_prefix(&self, text: TextRead<'_>) -> Option<Found> {
        match self {
            Self::Gpu(lane) => lane.find_prefix(text),
            Self::Cpu(session) => session.prefixes.find(text, usize::MAX),
        }
    }

    async fn take_prefix(&mut self, found: &Found) -> Result<Option<(Vec<u32>, Vec<AdapterUse>)>> {
        let taken = match self {
            Self::Gpu(lane) => lane.take_prefix(found).await?,
            Self::Cpu(session) => session.take_prefix(found),
        };
        taken.iter().try_for_each(|(ids, _)| self.write_places(ids))?;
        Ok(taken)
    }

    /// Takes note of where the ids of the text, of which all are cached, lie on each axis of positions with several.
    pub(super) fn write_places(&mut self, ids: &[u32]) -> Result<()> {
        match self {
            Self::Gpu(lane) => lane.write_places(ids),
            Self::Cpu(session) => {
                session.model.place(ids);
                Ok(())
            }
        }
    }
}
