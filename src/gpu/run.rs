//! Dispatches with buffers of their own, for what `harness` describes.

use super::{BufferTable, CommandList, Device, Part};
use crate::Result;
use crate::kernels::spec::{BufferId, Dispatch};

/// Buffers and a command list that are on a device until this is dropped.
pub(super) struct Run<'a> {
    device: &'a Device,
    dispatches: &'a [Dispatch],
    tokens: u32,
    table: BufferTable,
    list: CommandList,
}

impl<'a> Run<'a> {
    /// Makes zeroed buffers of these sizes, and records the dispatches for passes of `tokens` tokens.
    ///
    /// # Errors
    /// `limit_exceeded` where a buffer is too large for the device.
    pub fn new(
        device: &'a Device,
        buffers: impl Iterator<Item = (BufferId, u64)>,
        dispatches: &'a [Dispatch],
        tokens: u32,
    ) -> Result<Self> {
        let mut table = BufferTable::default();
        for (id, bytes) in buffers {
            table.insert(id, device.storage_buffer("harness", bytes)?);
        }
        let list = CommandList::record(device, dispatches, &table)?;
        Ok(Self { device, dispatches, tokens, table, list })
    }

    /// A buffer by its number.
    pub fn buffer(&self, id: BufferId) -> &wgpu::Buffer {
        self.table.get(id)
    }

    /// Writes the first bytes of a buffer.
    pub fn write(&self, id: BufferId, bytes: &[u8]) {
        self.device.queue.write_buffer(self.buffer(id), 0, bytes);
    }

    /// Submits the dispatches, `repeats` times in one pass.
    pub fn submit(&self, repeats: u32) {
        self.device.submit((0..repeats).map(|_| Part::from(&self.list)), self.tokens, None);
    }

    /// Waits for what was submitted; `bytes` of a buffer from `offset` on.
    ///
    /// # Errors
    /// What a shader's compiler found, or what the GPU reported.
    pub async fn read(&self, id: BufferId, offset: u64, bytes: u64) -> Result<Vec<u8>> {
        let found = self.device.read(self.buffer(id), offset, bytes).await;
        if found.is_err() {
            self.device.check_kernels(self.dispatches.iter().map(|dispatch| &dispatch.kernel)).await?;
        }
        found
    }
}
