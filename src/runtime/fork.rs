//! Further sessions of one model: empty, or with a copy of another session's cache, so that nothing is read twice.

use super::any::AnySession;
use super::cpu::CpuSession;
use super::gpu::lane_copies::ReadLane;
use super::run::engine::Engine;
use super::session::{AdapterUse, Session};
use crate::Result;

/// Tokens by which another session must be ahead for its cache to be copied: fewer are read faster than copied.
const WORTH: usize = 32;

impl Engine {
    /// Another session of the same model and tokenizer: with a copy of what this one has cached, or empty. What attends
    /// to a source is not copied.
    ///
    /// # Errors
    /// `invalid_argument` while a run is on; `out_of_memory`, `device_lost`.
    pub async fn another(&self, with_cache: bool) -> Result<Self> {
        self.check_idle()?;
        let with_cache = with_cache && self.source.is_empty();
        Ok(Self {
            session: self.session.another(with_cache).await?,
            tokenizer: self.tokenizer.clone(),
            stop: std::rc::Rc::default(),
            cached: if with_cache { self.cached.clone() } else { Vec::new() },
            asked: if with_cache { self.asked } else { 0 },
            private_from: self.private_from,
            cached_with: if with_cache { self.cached_with.clone() } else { Vec::new() },
            source: Vec::new(),
            rows: Vec::new(),
            run: None,
            norm: None,
        })
    }

    /// How many tokens of `ids`, from the first on, are cached.
    pub fn common_prefix(&self, ids: &[u32]) -> usize {
        self.cached.iter().zip(ids).take_while(|(a, b)| a == b).count()
    }

    /// How many tokens of `ids`, read with these adapters, `other` has cached; `None` where it is running, or too
    /// little ahead of this session to be worth copying, or attends to a source.
    pub fn gains_from(&self, other: &Self, ids: &[u32], adapters: &[AdapterUse]) -> Option<usize> {
        let is_copied = other.run.is_none() && self.source.is_empty() && other.source.is_empty();
        let theirs = is_copied.then(|| other.cached_of(ids, adapters))?;
        (theirs >= self.cached_of(ids, adapters) + WORTH).then_some(theirs)
    }

    /// Replaces this session's cache with a copy of what `other` has.
    ///
    /// # Errors
    /// The errors of [`Engine::another`]. This session is unchanged then, or empty if it is one of several lanes.
    pub async fn take_over(&mut self, other: &Self) -> Result<()> {
        if let Some(read) = other.read() {
            return self.take_over_lane(read).await;
        }
        self.session = other.session.another(true).await?;
        self.cached.clone_from(&other.cached);
        self.cached_with.clone_from(&other.cached_with);
        self.private_from = other.private_from;
        Ok(())
    }
}

/// What an engine has cached in a lane: a handle to copy it by, while others may use the lane.
pub struct Read {
    lane: ReadLane,
    cached: Vec<u32>,
    cached_with: Vec<AdapterUse>,
    private_from: usize,
}

impl Engine {
    /// What this engine has cached in its lane; `None` on the CPU and for the only lane of a session, which no other
    /// lane can copy.
    pub fn read(&self) -> Option<Read> {
        let AnySession::Gpu(lane) = &self.session else { return None };
        if lane.is_alone() {
            return None;
        }
        let (cached, cached_with) = (self.cached.clone(), self.cached_with.clone());
        Some(Read { lane: lane.read_so_far(), cached, cached_with, private_from: self.private_from })
    }

    /// [`Engine::take_over`] among lanes. Changes nothing where the other lane has gone on to another text meanwhile.
    ///
    /// # Errors
    /// The errors of [`Engine::another`]; this session is empty then.
    pub async fn take_over_lane(&mut self, read: Read) -> Result<()> {
        let Read { lane: other, cached, cached_with, private_from } = read;
        let AnySession::Gpu(lane) = &self.session else { return Ok(()) };
        match lane.take_over(&other).await {
            Ok(is_copied) if is_copied => {
                (self.cached, self.cached_with, self.private_from) = (cached, cached_with, private_from);
            }
            Ok(_) => {}
            Err(error) => {
                self.cached.clear();
                return Err(error);
            }
        }
        Ok(())
    }
}

impl AnySession {
    async fn another(&self, with_cache: bool) -> Result<Self> {
        Ok(match self {
            Self::Gpu(lane) => Self::Gpu(lane.another(with_cache).await?.into()),
            Self::Cpu(session) => Self::Cpu(session.another(with_cache).into()),
        })
    }
}

impl CpuSession {
    fn another(&self, with_cache: bool) -> Self {
        let mut made = self.clone();
        if !with_cache {
            made.rewind(0);
        }
        made
    }
}
