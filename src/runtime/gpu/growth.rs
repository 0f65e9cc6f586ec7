//! Growth of the caches of a session on the GPU.

use super::lists::Lists;
use super::session::GpuSession;
use crate::forward::{Growth, grown_lengths};
use crate::gpu::{BufferTable, Copy};
use crate::{Error, ErrorCode, Result};

impl GpuSession {
    /// Makes room for this many positions, or as many as the context has. Tokens may be in flight: passes submitted
    /// before write to the old caches, which are then copied.
    ///
    /// # Errors
    /// `out_of_memory`, which leaves everything as it was; errors of the device.
    pub(in crate::runtime) async fn grow_to(&mut self, positions: usize) -> Result<()> {
        let room = self.buffers.room;
        let needed = positions.min(room.context);
        if needed <= room.allocated {
            return Ok(());
        }
        let mut wanted = 0;
        for length in grown_lengths(room.allocated, needed, room.context) {
            let growth = self.buffers.grown(length, self.written());
            match self.make_caches(&growth).await? {
                Some(table) => return self.grow(growth, table).await,
                None => wanted = growth.bytes(),
            }
        }
        let message = format!(
            "the GPU has no room for {wanted} bytes, a KV cache of {needed} tokens: {} tokens still fit",
            room.allocated
        );
        Err(Error::new(ErrorCode::OutOfMemory, message))
    }

    /// A table with the new caches beside the other buffers; `None` where memory for them is missing.
    async fn make_caches(&self, growth: &Growth) -> Result<Option<BufferTable>> {
        let device = &self.model.device;
        let mut table = self.table.clone();
        let made = device.try_make(|| table.make(device, &growth.specs)).await?;
        Ok(made.map(|()| table))
    }

    /// Copies the caches and replaces the old ones.
    async fn grow(&mut self, growth: Growth, table: BufferTable) -> Result<()> {
        let model = self.model.clone();
        let Growth { buffers, moved, .. } = growth;
        let lists = self.forward(&model.caps, &buffers).lists();
        let lists = Lists::compile(&model.device, &lists, &table).await?;
        let copies = moved.iter().map(|of| Copy {
            source: self.table.get(of.buffer),
            source_offset: of.from,
            target: table.get(of.buffer),
            offset: of.to,
            bytes: of.bytes,
        });
        model.device.copy(copies);
        // The old caches go with their table. What was submitted before still runs.
        (self.table, self.buffers, self.lists) = (table, buffers, lists);
        self.forget_other_lists();
        model.device.check()
    }
}
