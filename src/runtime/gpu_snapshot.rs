//! What a saved session has of the caches and recurrent states on the GPU.

use super::gpu_session::GpuSession;
use super::regions::{Region, bytes_of, bytes_of_parts, part};
use super::snapshot::{Head, unsealed};
use crate::digest::{digest, extend};
use crate::gpu::Copy;
use crate::kernels::spec::Slice;
use crate::{Error, Result};

impl GpuSession {
    /// A digest of what decides how caches and states lie in their buffers and what their bytes mean.
    fn layout(&self) -> u64 {
        let room = self.buffers.room;
        let numbers = [room.kv_type as u32, room.context as u32, u32::from(room.axes)];
        let mut found = extend(digest(env!("CARGO_PKG_VERSION").as_bytes()), bytemuck::bytes_of(&numbers));
        for layer in &self.buffers.cache {
            let of = layer.heads;
            let numbers = [of.kv_heads, of.head_dim, if of.ring { of.capacity } else { 0 }];
            found = extend(found, bytemuck::bytes_of(&numbers));
        }
        for state in &self.buffers.states {
            found = extend(found, &(self.size(state) as u32).to_le_bytes());
        }
        found
    }

    fn size(&self, slice: &Slice) -> u64 {
        self.table.get(slice.buffer).size()
    }

    /// Keys and values of the first `tokens` positions, of a ring all that were written and that it has; then the
    /// copies of the states.
    fn regions(&self, tokens: usize) -> Vec<Region> {
        let mut regions = Vec::new();
        for layer in &self.buffers.cache {
            let (row, capacity) = (u64::from(layer.heads.row_bytes()), u64::from(layer.heads.capacity));
            let rows = capacity.min(if layer.heads.ring { self.sequence.written() } else { tokens } as u64);
            for slice in [layer.cache.k, layer.cache.v] {
                for head in 0..u64::from(layer.heads.kv_heads) {
                    regions.push(Region { buffer: slice.buffer, offset: head * capacity * row, bytes: rows * row });
                }
            }
        }
        let Some(checkpoints) = &self.sequence.checkpoints else { return regions };
        for (copy, slices) in checkpoints.copies().iter().zip(&self.buffers.checkpoints) {
            for slice in slices.iter().filter(|_| copy.is_some()) {
                regions.push(Region { buffer: slice.buffer, offset: 0, bytes: self.size(slice) });
            }
        }
        regions
    }

    /// The head with what is to be known of the caches. The states go with their copies: one of them is where the
    /// session is.
    pub(super) fn with_caches(&mut self, mut head: Head) -> Head {
        self.keep_states();
        head.layout = self.layout();
        head.written = head.written.max(self.sequence.written() as u32);
        head.parts = bytes_of_parts(&self.regions(head.tokens.len()));
        if let Some(checkpoints) = &self.sequence.checkpoints {
            for at in checkpoints.copies().iter().flatten() {
                head.copies.push(*at as u32);
            }
        }
        head
    }

    /// The bytes of a part, one region after the other; `None` after the last.
    pub(super) async fn read_part(&self, tokens: usize, number: u32) -> Result<Option<Vec<u8>>> {
        let part = part(&self.regions(tokens), number);
        let bytes = bytes_of(&part);
        if bytes == 0 {
            return Ok(None);
        }
        let device = &self.model.device;
        let gathered = device.storage_buffer("part", bytes)?;
        let mut end = 0;
        device.copy(part.iter().map(|of| {
            end += of.bytes;
            let source = self.table.get(of.buffer);
            Copy { source, source_offset: of.offset, target: &gathered, offset: end - of.bytes, bytes: of.bytes }
        }));
        drop(part);
        device.read(&gathered, 0, bytes).await.map(Some)
    }

    /// Takes on the state of the session that was saved, but for what is in its caches; false where these are none of
    /// this session's.
    pub(super) fn restore(&mut self, head: &Head) -> Result<bool> {
        if head.parts == 0 || head.layout != self.layout() {
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

    pub(super) fn write_part(&self, tokens: usize, number: u32, file: &[u8]) -> Result<()> {
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
}
