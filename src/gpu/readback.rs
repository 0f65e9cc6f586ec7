//! Bytes back from the GPU: a ring of small mapped buffers for tokens in flight, and one-off reads for tests.

use std::collections::VecDeque;

use futures_channel::oneshot::{Receiver, channel};

use super::buffer::Buffer;
use super::device::Device;
use crate::{Error, ErrorCode, Result};

/// Bytes of a buffer that are copied out of it at once: a mapped range is a copy in WebAssembly's memory.
const PIECE_BYTES: u64 = 1 << 20;

/// A mapping that is under way.
type Mapped = Receiver<std::result::Result<(), wgpu::BufferAsyncError>>;

/// A free read-back buffer: copy into it, submit, and pass it to [`Ring::submitted`].
#[must_use]
pub struct ReadBack(Buffer);

impl ReadBack {
    /// What is to be copied to.
    pub fn buffer(&self) -> &Buffer {
        &self.0
    }
}

/// Read-back buffers of one size, used as a ring: tokens come back in the order they were submitted.
pub struct Ring {
    depth: usize,
    size: u64,
    free: Vec<Buffer>,
    flying: VecDeque<(Buffer, Mapped)>,
    /// Reads that nobody waits for.
    dropped: VecDeque<(Buffer, Mapped)>,
}

impl Ring {
    /// A ring for up to `depth` reads in flight of `bytes` each.
    pub fn new(device: &Device, depth: usize, bytes: u64) -> Result<Self> {
        let free = (0..depth).map(|_| read_back(device, bytes)).collect::<Result<_>>()?;
        Ok(Self { depth, size: bytes, free, flying: VecDeque::new(), dropped: VecDeque::new() })
    }

    /// Bytes of all its buffers.
    pub fn bytes(&self) -> u64 {
        let mapped = self.flying.iter().chain(&self.dropped).map(|(buffer, _)| buffer);
        self.free.iter().chain(mapped).map(|buffer| buffer.size()).sum()
    }

    /// Reads in flight.
    pub fn in_flight(&self) -> usize {
        self.flying.len()
    }

    /// Whether one more read may be in flight.
    pub fn has_free(&self) -> bool {
        self.flying.len() < self.depth
    }

    /// A buffer for one read; `None` where as many reads are in flight as may be.
    ///
    /// # Errors
    /// `limit_exceeded` where the buffer is too large for the device.
    pub fn reserve(&mut self, device: &Device) -> Result<Option<ReadBack>> {
        if !self.has_free() {
            return Ok(None);
        }
        self.reclaim();
        let free = self.free.pop().map_or_else(|| read_back(device, self.size), Ok)?;
        Ok(Some(ReadBack(free)))
    }

    /// Starts mapping a buffer once the copy to it was submitted.
    pub fn submitted(&mut self, device: &Device, ReadBack(buffer): ReadBack) {
        let mapped = map(device, &buffer);
        self.flying.push_back((buffer, mapped));
    }

    /// Drops all reads in flight. Their buffers are used again once their mappings have ended: wgpu takes the end of a
    /// mapping that was given up for the end of the next one of the same buffer, and would show what was in it before.
    pub fn discard(&mut self) {
        self.dropped.append(&mut self.flying);
    }

    /// Takes back the buffers of dropped reads that have ended, and lets go of more than a ring needs.
    fn reclaim(&mut self) {
        while let Some((_, mapped)) = self.dropped.front_mut()
            && let outcome @ (Ok(Some(_)) | Err(_)) = mapped.try_recv()
            && let Some((buffer, _)) = self.dropped.pop_front()
        {
            if matches!(outcome, Ok(Some(Ok(())))) {
                buffer.unmap();
            }
            self.free.push(buffer);
        }
        self.free.truncate(self.depth - self.flying.len());
    }

    /// The oldest read in flight, once it is there; `None` where nothing is in flight.
    pub async fn next(&mut self, device: &Device) -> Result<Option<Vec<u8>>> {
        let Some((buffer, mapped)) = self.flying.pop_front() else { return Ok(None) };
        let bytes = copy_out(device, &buffer, wait_for(mapped).await);
        self.free.push(buffer);
        bytes.map(Some)
    }

    /// As [`Ring::next`], but `None` where the oldest read is not there yet.
    pub fn next_if_ready(&mut self, device: &Device) -> Result<Option<Vec<u8>>> {
        let Some((_, mapped)) = self.flying.front_mut() else { return Ok(None) };
        let outcome = match mapped.try_recv() {
            Ok(None) => return Ok(None),
            Ok(Some(outcome)) => outcome.map_err(|e| lost(e.to_string())),
            Err(dropped) => Err(lost(dropped.to_string())),
        };
        let Some((buffer, _)) = self.flying.pop_front() else { return Ok(None) };
        let bytes = copy_out(device, &buffer, outcome);
        self.free.push(buffer);
        bytes.map(Some)
    }
}

fn read_back(device: &Device, bytes: u64) -> Result<Buffer> {
    device.buffer("read-back", bytes, wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST)
}

fn lost(what: String) -> Error {
    Error::new(ErrorCode::DeviceLost, format!("the GPU answered no read: {what}"))
}

/// The bytes of a buffer whose mapping ended so. It is not mapped afterwards, whatever went wrong: the next submit that
/// copies to it would be refused.
fn copy_out(device: &Device, buffer: &wgpu::Buffer, mapped: Result<()>) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(buffer.size() as usize);
    give_out(device, buffer, mapped, buffer.size(), &mut |piece| bytes.extend_from_slice(piece))?;
    Ok(bytes)
}

/// Gives the first `size` bytes of a buffer whose mapping ended so to `take`, in pieces. It is not mapped afterwards.
fn give_out(
    device: &Device,
    buffer: &wgpu::Buffer,
    mapped: Result<()>,
    size: u64,
    take: &mut dyn FnMut(&[u8]),
) -> Result<()> {
    let is_mapped = mapped.is_ok();
    let mut give = || -> Result<()> {
        for start in (0..size).step_by(PIECE_BYTES as usize) {
            let end = (start + PIECE_BYTES).min(buffer.size());
            let range = buffer.get_mapped_range(start..end).map_err(|e| lost(e.to_string()))?;
            take(&range[..(size - start).min(PIECE_BYTES) as usize]);
        }
        Ok(())
    };
    let given = device.check().and(mapped).and_then(|()| give());
    if is_mapped {
        buffer.unmap();
    }
    given
}

fn map(device: &Device, buffer: &wgpu::Buffer) -> Mapped {
    let (sender, receiver) = channel();
    buffer.map_async(wgpu::MapMode::Read, .., move |result| drop(sender.send(result)));
    device.respond();
    receiver
}

async fn wait_for(mapped: Mapped) -> Result<()> {
    match mapped.await {
        Ok(outcome) => outcome.map_err(|e| lost(e.to_string())),
        Err(dropped) => Err(lost(dropped.to_string())),
    }
}

impl Device {
    /// Reads `size` bytes of `buffer` from `offset` on. Makes a buffer and waits: for tests and logits.
    pub async fn read(&self, buffer: &wgpu::Buffer, offset: u64, size: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(size as usize);
        self.read_pieces(buffer, offset, size, &mut |piece| bytes.extend_from_slice(piece)).await?;
        Ok(bytes)
    }

    /// As [`Device::read`], piece by piece: for what need not be in WebAssembly's memory as a whole.
    pub async fn read_pieces(
        &self,
        buffer: &wgpu::Buffer,
        offset: u64,
        size: u64,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<()> {
        let target = read_back(self, size)?;
        let mut encoder = self.raw.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(buffer, offset, &target, 0, Some(size));
        self.queue.submit([encoder.finish()]);
        let mapped = map(self, &target);
        let outcome = wait_for(mapped).await;
        give_out(self, &target, outcome, size, take)
    }
}
