//! Runs a case of `harness` on a device: for the tests, and for `www/kernels.html`.

use super::{BufferTable, CommandList, Gpu};
use crate::Result;
use crate::harness::Case;

/// A case whose buffers and command list are on a device, until it is dropped.
pub struct CaseRun<'a> {
    gpu: &'a Gpu,
    case: &'a Case,
    table: BufferTable,
    list: Option<CommandList>,
}

impl<'a> CaseRun<'a> {
    /// Makes the buffers, fills them, and records the dispatches.
    ///
    /// # Errors
    /// `limit_exceeded` where a buffer of the case is too large for the device.
    pub fn new(gpu: &'a Gpu, case: &'a Case) -> Result<Self> {
        let mut run = Self { gpu, case, table: BufferTable::default(), list: None };
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        for (id, bytes) in &case.buffers {
            let buffer = gpu.buffer("case", bytes.len() as u64, usage)?;
            gpu.queue.write_buffer(&buffer, 0, bytes);
            run.table.insert(*id, buffer);
        }
        run.list = Some(CommandList::record(gpu, &case.dispatches, &run.table)?);
        Ok(run)
    }

    /// Submits the dispatches, `repeats` times in one pass.
    pub fn submit(&self, repeats: u32) {
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        for list in (0..repeats).flat_map(|_| &self.list) {
            list.replay(&mut pass, self.case.state.count);
        }
        drop(pass);
        self.gpu.queue.submit([encoder.finish()]);
    }

    /// Waits for what was submitted; the bytes that [`Case::check`] wants.
    ///
    /// # Errors
    /// What a shader's compiler found, or what the GPU reported.
    pub async fn output(&self) -> Result<Vec<u8>> {
        let (gpu, case) = (self.gpu, self.case);
        let found = gpu.read(self.table.get(case.output), 0, case.expected.bytes() as u64).await;
        if found.is_err() {
            gpu.check_kernels(case.dispatches.iter().map(|dispatch| &dispatch.kernel)).await?;
        }
        found
    }
}

impl Drop for CaseRun<'_> {
    fn drop(&mut self) {
        self.table.buffers().for_each(|buffer| self.gpu.destroy_buffer(buffer));
        if let Some(list) = self.list.take() {
            list.destroy(self.gpu);
        }
    }
}
