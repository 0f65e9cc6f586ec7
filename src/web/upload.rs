//! Uploads tensors to the GPU in file order, through one slice of memory.

use std::rc::Rc;

use futures_channel::oneshot::Receiver;
use wasm_bindgen::prelude::*;

use super::errors::to_js;
use super::progress::Progress;
use super::source::PartReader;
use super::table::{Kept, ReadAgain};
use crate::gguf::TensorInfo;
use crate::gpu::Device;
use crate::runtime::{GpuModelBuilder, RowSource};
use crate::time_slice::TimeSlice;

/// Number of bytes uploaded between two checks of the GPU, which may be one such window behind. So the browser holds
/// two windows at most, and the GPU has one to work on while the next arrives.
const WINDOW: u64 = 32 << 20;

/// Number of bytes skipped between two reports of progress.
const SKIP: u64 = 8 << 20;

/// An upload of all tensors of a model.
pub struct Upload<'a> {
    pub device: Rc<Device>,
    pub tensors: &'a [TensorInfo],
    pub readers: Vec<PartReader>,
    pub progress: &'a mut Progress,
}

impl Upload<'_> {
    /// Uploads every tensor that the model uses. Closes all parts but the one from which rows of a cached table are
    /// read later.
    pub async fn run(mut self, builder: &mut GpuModelBuilder<'_>) -> Result<(), JsValue> {
        let table = builder.cached_tensor();
        let mut kept = None;
        let mut bytes = Vec::new();
        let mut in_window = 0;
        let mut window_before = None;
        let mut time_slice = TimeSlice::new();
        for (index, tensor) in self.tensors.iter().enumerate() {
            let is_table = table == Some(index);
            if is_table {
                kept = self.keep(tensor).await?;
            }
            for slice in builder.slices(index) {
                bytes.resize(slice.bytes as usize, 0);
                match kept.as_ref().filter(|_| is_table) {
                    Some(kept) => kept.copy_to(slice.offset, &mut bytes),
                    None => self.fill(tensor, slice.offset, &mut bytes).await?,
                }
                builder.put(index, &slice, &bytes).map_err(to_js)?;
                in_window += slice.bytes;
                if in_window >= WINDOW {
                    self.wait_for(window_before.replace(self.device.submitted())).await?;
                    in_window = 0;
                }
                time_slice.yield_if_over().await;
            }
            if is_table {
                self.pass_over_rest(tensor).await?;
            }
        }
        if let Some(tensor) = table.map(|index| &self.tensors[index]) {
            let source: Box<dyn RowSource> = match kept {
                Some(kept) => Box::new(kept),
                None => Box::new(ReadAgain::new(self.readers.swap_remove(tensor.part), tensor)),
            };
            builder.read_rows_from(source);
        }
        Ok(())
    }

    /// Waits until the GPU has processed a window of the upload.
    async fn wait_for(&self, window: Option<Receiver<()>>) -> Result<(), JsValue> {
        if let Some(window) = window {
            // A lost device drops the sender; `check` then reports it.
            let _ = window.await;
        }
        self.device.check().map_err(to_js)
    }

    /// Reads a tensor's bytes from `offset` on, skipping what lies before, such as tensors that the model does not use.
    async fn fill(&mut self, tensor: &TensorInfo, offset: u64, bytes: &mut [u8]) -> Result<(), JsValue> {
        let reader = &mut self.readers[tensor.part];
        reader.skip_to(tensor.offset + offset, &tensor.name).await?;
        reader.fill(bytes, &tensor.name).await?;
        self.progress.received(bytes.len() as u64)
    }

    /// Keeps the whole table in memory, if its source cannot be read again.
    async fn keep(&mut self, table: &TensorInfo) -> Result<Option<Kept>, JsValue> {
        let Self { readers, progress, .. } = self;
        let reader = &mut readers[table.part];
        if reader.reads_again() {
            return Ok(None);
        }
        Kept::read(reader, table, |bytes| progress.received(bytes)).await.map(Some)
    }

    /// Skips the rest of the table, whose rows are read when they are needed.
    async fn pass_over_rest(&mut self, table: &TensorInfo) -> Result<(), JsValue> {
        let end = table.offset + table.bytes;
        let reader = &mut self.readers[table.part];
        while reader.position() < end {
            let before = reader.position();
            reader.skip_to(end.min(before + SKIP), &table.name).await?;
            self.progress.received(reader.position() - before)?;
        }
        Ok(())
    }
}
