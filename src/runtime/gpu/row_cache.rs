//! The host's part of a [`forward::RowCache`](crate::forward::RowCache): reads rows that are in no slot from their
//! source, and uploads them.

use std::cell::RefCell;
use std::pin::Pin;

use super::model::GpuModel;
use super::slots::{Placed, Slots};
use crate::gpu::Device;
use crate::kernels::spec::Slice;
use crate::runtime::load::staging::{RowRange, Staging};
use crate::{Error, ErrorCode, Result};

/// Source of the rows of a table that are in no slot.
pub trait RowSource {
    /// Reads rows, whose numbers ascend. Returns their bytes as the file has them, one row after the other.
    ///
    /// # Errors
    /// `download_failed` and other reasons why bytes could not be read; the message names the source.
    fn read<'a>(&'a self, rows: &'a [u32]) -> Pin<Box<dyn Future<Output = Result<Vec<u8>>> + 'a>>;
}

/// The slots on the GPU, and the source of the other rows.
pub(in crate::runtime) struct Rows {
    slots: RefCell<Slots>,
    source: Box<dyn RowSource>,
}

impl Rows {
    /// Makes the rows of a model whose slots hold the first rows of the table.
    pub fn new(slots: Slots, source: Box<dyn RowSource>) -> Self {
        Self { slots: RefCell::new(slots), source }
    }
}

impl GpuModel {
    /// Maximum number of tokens of a pass: as many as [`GpuModel::ensure_rows`] can have in slots at once.
    pub(in crate::runtime) fn chunk(&self) -> usize {
        self.weights.row_cache.as_ref().map_or(crate::forward::CHUNK, crate::forward::RowCache::chunk)
    }

    /// Makes sure that the next pass finds the rows of these tokens, at most [`GpuModel::chunk`]. The pass is to be
    /// submitted before anything else is awaited. Passes submitted before see the slots as they were.
    ///
    /// # Errors
    /// The errors of the source, after which the slots are still valid; `limit_exceeded` for more rows than slots.
    pub(in crate::runtime) async fn ensure_rows(&self, tokens: &[u32]) -> Result<()> {
        let Some(Rows { slots, source }) = &self.rows else { return Ok(()) };
        loop {
            let missing = slots.borrow_mut().missing(tokens);
            if missing.is_empty() {
                return Ok(());
            }
            let bytes = source.read(&missing).await?;
            self.check_rows(missing.len(), bytes.len())?;
            // Another session may have used the slots in the meantime.
            let mut wanted = slots.borrow_mut().missing(tokens);
            wanted.retain(|row| missing.binary_search(row).is_ok());
            let placed = slots.borrow_mut().place(&wanted);
            if placed.len() < wanted.len() {
                let message = format!("{} rows of a table at once, there is room for {}", wanted.len(), placed.len());
                return Err(Error::new(ErrorCode::LimitExceeded, message));
            }
            self.upload(&placed, (&missing, &bytes))?;
        }
    }

    /// Puts the rows of tokens that texts are likely to use into slots, as many as fit.
    ///
    /// # Errors
    /// The errors of the source.
    pub async fn expect(&self, tokens: &[u32]) -> Result<()> {
        self.ensure_rows(&tokens[..tokens.len().min(self.chunk())]).await
    }

    /// Marks the row of a token as used.
    pub(in crate::runtime) fn touch_row(&self, token: u32) {
        if let Some(rows) = &self.rows {
            rows.slots.borrow_mut().missing(&[token]);
        }
    }

    fn upload(&self, placed: &[Placed], (read, bytes): (&[u32], &[u8])) -> Result<()> {
        let Some(cache) = &self.weights.row_cache else { return Ok(()) };
        let row_bytes = cache.row_bytes() as usize;
        let staging = Staging { device: &self.device, table: &self.table, buffer: cache.staging };
        for batch in placed.chunks(cache.upload_rows()) {
            let mut raw = Vec::with_capacity(batch.len() * row_bytes);
            for placed in batch {
                let at = read.binary_search(&placed.row).unwrap_or_default() * row_bytes;
                raw.extend_from_slice(&bytes[at..at + row_bytes]);
            }
            staging.put(&cache.slots, &ranges(batch), &raw)?;
        }
        for &Placed { row, slot, before } in placed {
            before.inspect(|&before| self.write_slot(cache.slot_of_row, before, 0));
            self.write_slot(cache.slot_of_row, row, slot + 1);
        }
        Ok(())
    }

    fn check_rows(&self, rows: usize, found: usize) -> Result<()> {
        let expected = rows * self.weights.row_cache.as_ref().map_or(0, |cache| cache.row_bytes() as usize);
        if found == expected {
            return Ok(());
        }
        let message = format!("{rows} rows of a table take {expected} bytes, the source gave {found}");
        Err(Error::new(ErrorCode::DownloadFailed, message))
    }

    fn write_slot(&self, slot_of_row: Slice, row: u32, slot: u32) {
        let device: &Device = &self.device;
        device.write(self.table.get(slot_of_row.buffer), u64::from(row) * 4, &slot.to_le_bytes());
    }
}

/// Groups placed rows by neighbouring slots.
fn ranges(placed: &[Placed]) -> Vec<RowRange> {
    let neighbours = placed.chunk_by(|a, b| a.slot + 1 == b.slot);
    neighbours.map(|run| RowRange { first: run[0].slot, rows: run.len() as u32 }).collect()
}
