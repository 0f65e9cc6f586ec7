//! The part of a saved session that is on the GPU: caches and recurrent states.

use super::session::GpuSession;
use crate::digest::{digest, extend};
use crate::gpu::{Buffer, Copy};
use crate::runtime::saved::regions::{Region, bytes_of, bytes_of_parts, part};
use crate::runtime::saved::snapshot::{Head, PART, unsealed};
use crate::{Error, Result};

impl GpuSession {
    /// A digest of everything that decides how caches and states lie in their buffers and what their bytes mean.
    fn layout(&self) -> u64 {
        let room = self.buffers.room;
        let numbers = [room.kv_type as u32, room.context as u32, u32::from(room.axes)];
        let mut found = extend(digest(env!("CARGO_PKG_VERSION").as_bytes()), bytemuck::bytes_of(&numbers));
        for layer in &self.buffers.cache {
            let of = layer.heads;
            let numbers = [of.kv_heads, of.head_dim, if of.ring { of.capacity } else { 0 }];
            found = extend(found, bytemuck::bytes_of(&numbers));
        }
        for (_, bytes) in self.parts_of_states(0) {
            found = extend(found, &(bytes as u32).to_le_bytes());
        }
        found
    }

    /// The regions to save of the selected sequence: keys and values of the first `tokens` positions (of a ring, all
    /// that it still holds), then the checkpoints of the states.
    fn regions(&self, tokens: usize) -> Vec<Region> {
        let number = self.choice.sequence as usize;
        let mut regions = Vec::new();
        for layer in &self.buffers.cache {
            let (row, capacity) = (u64::from(layer.heads.row_bytes()), u64::from(layer.heads.capacity));
            let rows = capacity.min(if layer.heads.ring { self.sequence.written() } else { tokens } as u64);
            let heads = u64::from(layer.heads.kv_heads);
            for slice in [layer.cache.k, layer.cache.v] {
                for head in number as u64 * heads..(number as u64 + 1) * heads {
                    regions.push(Region { buffer: slice.buffer, offset: head * capacity * row, bytes: rows * row });
                }
            }
        }
        let kept = self.sequence.copies().into_iter().zip(&self.buffers.checkpoints).filter(|(copy, _)| copy.is_some());
        for (slice, (offset, bytes)) in kept.flat_map(|(_, slices)| slices.iter().zip(self.parts_of_states(number))) {
            regions.push(Region { buffer: slice.buffer, offset, bytes });
        }
        regions
    }

    /// Adds to the head what must be known of the caches. States are saved as checkpoints; one of these is the current
    /// state.
    pub(in crate::runtime) fn caches_of(&mut self, mut head: Head) -> Head {
        self.keep_states();
        head.layout = self.layout();
        head.written = head.written.max(self.sequence.written() as u32);
        head.parts = bytes_of_parts(&self.regions(head.tokens.len()));
        head.copies = self.sequence.copies().into_iter().flatten().map(|at| at as u32).collect();
        head
    }

    /// The bytes of a part, its regions one after the other; `None` after the last part.
    pub(in crate::runtime) async fn part(&self, tokens: usize, number: u32) -> Result<Option<Vec<u8>>> {
        let part = part(&self.regions(tokens), number);
        let bytes = bytes_of(&part);
        if bytes == 0 {
            return Ok(None);
        }
        let device = &self.model.device;
        let gathered = device.storage_buffer("part", bytes)?;
        self.copy_part(&part, &gathered, Direction::Out);
        device.read(&gathered, 0, bytes).await.map(Some)
    }

    /// Takes on the state of a saved session, except for the contents of its caches, which follow in parts. False where
    /// the saved caches do not fit this session.
    pub(in crate::runtime) fn go_on_from(&mut self, head: &Head) -> Result<bool> {
        let has_room =
            head.written as usize <= self.buffers.room.context && head.copies.len() <= self.buffers.checkpoints.len();
        if head.parts == 0 || head.layout != self.layout() || !has_room {
            return Ok(false);
        }
        self.sequence.restore(head.tokens.len(), head.written as usize, &head.copies);
        let expected = bytes_of_parts(&self.regions(head.tokens.len()));
        if head.parts != expected {
            let message = format!("the saved session has {} bytes of caches, expected {expected}", head.parts);
            return Err(Error::bad_file(message));
        }
        Ok(true)
    }

    pub(in crate::runtime) fn put_part(&self, tokens: usize, number: u32, file: &[u8]) -> Result<()> {
        let part = part(&self.regions(tokens), number);
        let mut bytes = unsealed(file, bytes_of_parts(&part))?;
        let device = &self.model.device;
        for region in &part {
            let (these, rest) = bytes.split_at(region.bytes as usize);
            device.write(self.table.get(region.buffer), region.offset, these);
            bytes = rest;
        }
        device.check()
    }

    /// Copies a text to another sequence of the caches. A GPU cannot copy within a buffer, so the data goes part by
    /// part through another buffer.
    pub(in crate::runtime) fn copy_text(&mut self, from: usize, to: usize) -> Result<()> {
        self.select(from);
        self.keep_states();
        let (next, written) = (self.sequence.next(), self.sequence.written());
        let copies: Vec<u32> = self.sequence.copies().into_iter().flatten().map(|at| at as u32).collect();
        let sources = self.regions(written);
        self.select(to);
        self.sequence.restore(next, written, &copies);
        let targets = self.regions(written);
        let device = &self.model.device;
        let between = device.storage_buffer("part", PART.min(bytes_of(&sources)))?;
        for number in 0..bytes_of(&sources).div_ceil(PART) as u32 {
            self.copy_part(&part(&sources, number), &between, Direction::Out);
            self.copy_part(&part(&targets, number), &between, Direction::In);
        }
        device.check()
    }

    /// Copies regions out to a buffer, one after the other, or in from there.
    fn copy_part(&self, regions: &[Region], other: &Buffer, direction: Direction) {
        let mut end = 0;
        self.model.device.copy(regions.iter().map(|of| {
            let (own, offset, bytes) = (self.table.get(of.buffer), end, of.bytes);
            end += bytes;
            match direction {
                Direction::Out => Copy { source: own, source_offset: of.offset, target: other, offset, bytes },
                Direction::In => Copy { source: other, source_offset: offset, target: own, offset: of.offset, bytes },
            }
        }));
    }
}

/// Direction in which regions are copied.
#[derive(Clone, Copy)]
enum Direction {
    Out,
    In,
}
