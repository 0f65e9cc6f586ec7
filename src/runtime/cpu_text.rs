//! Where a text of a session on the CPU lies, as [regions](Region) of bytes: keys and values of its tokens, and the
//! copies of recurrent states. Their buffers have numbers: keys and values of each cache, then the states of each slot.

use std::ops::Range;

use super::cpu::CpuSession;
use super::saved::head::{Head, unsealed};
use super::saved::regions::{Region, bytes_of, bytes_of_parts, part};
use crate::kernels::spec::BufferId;
use crate::{Error, ErrorCode, Result};

impl CpuSession {
    /// Keys and values of these positions.
    pub(super) fn rows_of_tokens(&self, positions: Range<usize>) -> Vec<Region> {
        let rows = self.model.row_bytes().into_iter().enumerate();
        let of = |(cache, row): (usize, usize)| {
            [0, 1].map(|part| Region {
                buffer: BufferId((2 * cache + part) as u32),
                offset: (positions.start * row) as u64,
                bytes: (positions.len() * row) as u64,
            })
        };
        rows.flat_map(of).collect()
    }

    /// The copies of states in these slots.
    pub(super) fn states_in(&self, slots: &[usize]) -> Vec<Region> {
        let (caches, states) = (self.model.caches(), self.model.states());
        let of = |slot: &usize| {
            let first = 2 * caches + slot * states.len();
            states.iter().enumerate().map(move |(number, state)| Region {
                buffer: BufferId((first + number) as u32),
                offset: 0,
                bytes: size_of_val(state.as_slice()) as u64,
            })
        };
        slots.iter().flat_map(of).collect()
    }

    /// All that is saved of a text of `tokens` tokens.
    pub(super) fn regions(&self, tokens: usize) -> Vec<Region> {
        let copies = self.copies();
        let slots: Vec<usize> = (0..copies.len()).filter(|&slot| copies[slot].is_some()).collect();
        [self.rows_of_tokens(0..tokens), self.states_in(&slots)].concat()
    }

    /// The position of the copy of states in each slot.
    pub(super) fn copies(&self) -> Vec<Option<usize>> {
        self.checkpoints.as_ref().map_or(Vec::new(), |(checkpoints, _)| checkpoints.copies().to_vec())
    }

    /// The bytes of regions, one after the other; `None` where there is no memory for them.
    pub(super) fn copy_out(&self, regions: &[Region]) -> Option<Vec<u8>> {
        let mut found = Vec::new();
        found.try_reserve_exact(bytes_of(regions) as usize).ok()?;
        for region in regions {
            let bytes = match place(region.buffer, self.model.caches(), self.model.states().len()) {
                Place::Rows(cache, part) => self.model.rows(cache, part),
                Place::State(slot, number) => {
                    let (_, copies) = self.checkpoints.as_ref()?;
                    bytemuck::cast_slice(&copies[slot][number])
                }
            };
            found.extend_from_slice(&bytes[region.offset as usize..][..region.bytes as usize]);
        }
        Some(found)
    }

    /// Writes the bytes of a region.
    pub(super) fn copy_in(&mut self, region: &Region, bytes: &[u8]) {
        let place = place(region.buffer, self.model.caches(), self.model.states().len());
        let there = match (place, &mut self.checkpoints) {
            (Place::Rows(cache, part), _) => self.model.rows_mut(cache, part),
            (Place::State(slot, number), Some((_, copies))) => bytemuck::cast_slice_mut(&mut copies[slot][number]),
            (Place::State(..), None) => return,
        };
        there[region.offset as usize..][..region.bytes as usize].copy_from_slice(bytes);
    }

    /// Goes to the end of another text of `tokens` tokens, whose copies of states have these positions. Its keys and
    /// values and these copies are to be written by [`Self::copy_in`].
    ///
    /// # Errors
    /// `out_of_memory`; the text stays then.
    pub(super) fn begin_text(&mut self, tokens: usize, copies: &[u32]) -> Result<()> {
        self.model.begin_text(tokens)?;
        if let Some((checkpoints, kept)) = &mut self.checkpoints {
            checkpoints.restore(copies);
            kept.iter_mut().take(copies.len()).for_each(|kept| *kept = self.model.states().to_vec());
        }
        self.forget_pass();
        Ok(())
    }

    /// Adds to the head of a saved session what must be known of the caches.
    pub(super) fn saved_in(&mut self, head: Head) -> Head {
        self.keep_states();
        let copies = self.copies().into_iter().flatten().map(|at| at as u32).collect();
        let parts = bytes_of_parts(&self.regions(head.tokens.len()));
        Head { layout: self.model.cache_digest(), parts, copies, ..head }
    }

    /// See [`Session::restore`](super::session::Session::restore).
    pub(super) fn begin_saved(&mut self, head: &Head) -> Result<bool> {
        let fits = head.layout == self.model.cache_digest() && head.copies.len() <= self.copies().len();
        if head.parts == 0 || !fits {
            return Ok(false);
        }
        let slots: Vec<usize> = (0..head.copies.len()).collect();
        let regions = [self.rows_of_tokens(0..head.tokens.len()), self.states_in(&slots)].concat();
        let expected = bytes_of_parts(&regions);
        if head.parts != expected {
            let message = format!("the saved session has {} bytes of caches, expected {expected}", head.parts);
            return Err(Error::bad_file(message));
        }
        self.begin_text(head.tokens.len(), &head.copies)?;
        Ok(true)
    }

    /// See [`Session::read_part`](super::session::Session::read_part).
    pub(super) fn saved_part(&self, tokens: usize, number: u32) -> Result<Option<Vec<u8>>> {
        let regions = part(&self.regions(tokens), number);
        if regions.is_empty() {
            return Ok(None);
        }
        let message = || format!("no memory for the {} bytes of a part of a saved session", bytes_of(&regions));
        self.copy_out(&regions).map(Some).ok_or_else(|| Error::new(ErrorCode::OutOfMemory, message()))
    }

    /// See [`Session::write_part`](super::session::Session::write_part).
    pub(super) fn take_part(&mut self, tokens: usize, number: u32, file: &[u8]) -> Result<()> {
        let regions = part(&self.regions(tokens), number);
        let mut bytes = unsealed(file, bytes_of_parts(&regions))?;
        for region in &regions {
            let (own, others) = bytes.split_at(region.bytes as usize);
            self.copy_in(region, own);
            bytes = others;
        }
        Ok(())
    }
}

/// What a number of a buffer stands for.
enum Place {
    /// Keys (0) or values (1) of a cache.
    Rows(usize, usize),
    /// A state of a slot.
    State(usize, usize),
}

fn place(BufferId(buffer): BufferId, caches: usize, states: usize) -> Place {
    let buffer = buffer as usize;
    match buffer.checked_sub(2 * caches) {
        None => Place::Rows(buffer / 2, buffer % 2),
        Some(state) => Place::State(state / states, state % states),
    }
}
