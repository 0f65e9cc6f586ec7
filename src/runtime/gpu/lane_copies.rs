//! Copies of what a lane has read, for another lane or another session.

use std::rc::Rc;

use super::lane::GpuLane;
use super::session::GpuSession;
use crate::runtime::passes::saved::{Direction, copy, regions};
use crate::runtime::passes::states;
use crate::runtime::plan::Plan;
use crate::runtime::saved::head::PART;
use crate::runtime::saved::regions::{bytes_of, part};
use crate::{Error, Result};

/// A handle to what a lane has read, valid as long as nothing else is read there.
pub struct ReadLane {
    lane: GpuLane,
    version: u32,
}

impl GpuLane {
    /// The next lane without an owner, or, if the session has a single lane, that of another session. It is empty, or
    /// has what this one has read.
    ///
    /// # Errors
    /// `invalid_argument` where all lanes have owners; `out_of_memory`, `device_lost`.
    pub async fn another(&self, with_cache: bool) -> Result<Self> {
        if self.is_alone() {
            return self.of_another_session(with_cache).await;
        }
        let (number, count) = (self.drive.taken.get(), self.lanes());
        if number >= count {
            return Err(Error::invalid_argument(format!("the model runs {count} requests at once")));
        }
        self.drive.taken.set(number + 1);
        let made = self.numbered(number);
        if with_cache {
            made.take_over(&self.read_so_far()).await?;
        }
        Ok(made)
    }

    async fn of_another_session(&self, with_cache: bool) -> Result<Self> {
        let session = self.turn().await?;
        let made = Self::first(session.another(with_cache).await?);
        drop(session);
        if self.drive.drafter().is_some_and(|drafter| !drafter.is_own_block()) {
            made.drive.use_drafter(self.drive.drafter());
        }
        if with_cache {
            let (positions, position) = self.state(|text| (text.positions.clone(), text.next.position));
            made.state(|text| {
                text.positions = positions;
                text.has_read(position as usize);
            });
        }
        Ok(made)
    }

    /// A handle to what the lane has read, to be copied while the lane may be in use.
    pub fn read_so_far(&self) -> ReadLane {
        ReadLane { lane: self.numbered(self.number), version: self.state(|text| text.version) }
    }

    /// Copies what another lane of the session has read. False, with nothing copied, where that has changed since.
    ///
    /// # Errors
    /// `out_of_memory`, `device_lost`.
    pub async fn take_over(&self, ReadLane { lane: other, version }: &ReadLane) -> Result<bool> {
        // If the other lane's states must be restored from a checkpoint, this turn does so first.
        drop(other.turn().await?);
        let mut session = self.turn().await?;
        if other.state(|text| text.version) != *version || !Rc::ptr_eq(&self.drive, &other.drive) {
            return Ok(false);
        }
        self.copy_text(&mut session, other)?;
        let position = other.state(|text| text.next.position);
        self.state(|text| {
            text.stop();
            text.restores = None;
            text.has_read(position as usize);
        });
        Ok(true)
    }

    /// Copies the caches of another lane. A GPU cannot copy within a buffer, so the data goes part by part through
    /// another buffer.
    fn copy_text(&self, session: &mut GpuSession, other: &Self) -> Result<()> {
        let (layout, mut plan) = (session.layout(), Plan::default());
        let theirs = other.state(|text| {
            states::keep(&mut plan, layout, other.number, &mut text.positions);
            text.positions.clone()
        });
        let (next, written) = (theirs.next(), theirs.written());
        let copies = theirs.kept();
        let sources = regions(layout, other.number, &theirs, written);
        let targets = self.state(|text| {
            text.positions.restore(next, written, &copies);
            regions(layout, self.number, &text.positions, written)
        });
        let between = self.model().device().storage_buffer("part", PART.min(bytes_of(&sources)))?;
        for number in 0..bytes_of(&sources).div_ceil(PART) as u32 {
            plan.append(copy(&part(&sources, number), &between, Direction::Out));
            plan.append(copy(&part(&targets, number), &between, Direction::In));
        }
        session.gpu.execute(&plan)?;
        self.model().device().check()
    }
}
