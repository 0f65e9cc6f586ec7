//! Dispatches with buffers of their own, for what `harness` describes.

use super::{BufferTable, CommandList, Gpu};
use crate::Result;
use crate::kernels::spec::{BufferId, Dispatch};

/// Buffers and a command list that are on a device until this is dropped.
pub(super) struct Run<'a> {
    gpu: &'a Gpu,
    dispatches: &'a [Dispatch],
    tokens: u32,
    table: BufferTable,
    list: Option<CommandList>,
}

impl<'a> Run<'a> {
    /// Makes zeroed buffers of these sizes, and records the dispatches for passes of `tokens` tokens.
    ///
    /// # Errors
    /// `limit_exceeded` where a buffer is too large for the device.
    pub fn new(
        gpu: &'a Gpu,
        buffers: impl Iterator<Item = (BufferId, u64)>,
        dispatches: &'a [Dispatch],
        tokens: u32,
    ) -> Result<Self> {
        let mut run = Self { gpu, dispatches, tokens, table: BufferTable::default(), list: None };
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        for (id, bytes) in buffers {
            run.table.insert(id, gpu.buffer("harness", bytes, usage)?);
        }
        run.list = Some(CommandList::record(gpu, dispatches, &run.table)?);
        Ok(run)
    }

    /// A buffer by its number.
    pub fn buffer(&self, id: BufferId) -> &wgpu::Buffer {
        self.table.get(id)
    }

    /// Writes the first bytes of a buffer.
    pub fn write(&self, id: BufferId, bytes: &[u8]) {
        self.gpu.queue.write_buffer(self.buffer(id), 0, bytes);
    }

    /// Submits the dispatches, `repeats` times in one pass.
    pub fn submit(&self, repeats: u32) {
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        for list in (0..repeats).flat_map(|_| &self.list) {
            list.replay(&mut pass, self.tokens);
        }
        drop(pass);
        self.gpu.queue.submit([encoder.finish()]);
    }

    /// Waits for what was submitted; `bytes` of a buffer from `offset` on.
    ///
    /// # Errors
    /// What a shader's compiler found, or what the GPU reported.
    pub async fn read(&self, id: BufferId, offset: u64, bytes: u64) -> Result<Vec<u8>> {
        let found = self.gpu.read(self.buffer(id), offset, bytes).await;
        if found.is_err() {
            self.gpu.check_kernels(self.dispatches.iter().map(|dispatch| &dispatch.kernel)).await?;
        }
        found
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.table.buffers().for_each(|buffer| self.gpu.destroy_buffer(buffer));
        if let Some(list) = self.list.take() {
            list.destroy(self.gpu);
        }
    }
}
