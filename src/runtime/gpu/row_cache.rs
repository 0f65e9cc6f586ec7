//! The host's part of a [`forward::RowCache`](crate::forward::RowCache): reads rows that are in no slot from their
//! source, and uploads them.

use std::cell::RefCell;
use std::pin::Pin;

use super::slots::{Placed, Slots};
use crate::forward::RowCache;
use crate::gpu::{BufferTable, Device};
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

/// Where the slots of a table are.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Slotted<'a> {
    pub device: &'a Device,
    pub table: &'a BufferTable,
    pub cache: &'a RowCache,
}

impl Rows {
    /// Makes sure that the next pass finds the rows of these tokens. The pass is to be submitted before anything else
    /// is awaited. Passes submitted before see the slots as they were.
    ///
    /// # Errors
    /// The errors of the source, after which the slots are still valid; `limit_exceeded` for more rows than slots.
    pub async fn ensure(&self, tokens: &[u32], to: Slotted<'_>) -> Result<()> {
        let slots = &self.slots;
        loop {
            let missing = slots.borrow_mut().missing(tokens);
            if missing.is_empty() {
                return Ok(());
            }
            let bytes = self.source.read(&missing).await?;
            check_rows(missing.len(), bytes.len(), to.cache)?;
            // Another session may have used the slots in the meantime.
            let mut wanted = slots.borrow_mut().missing(tokens);
            wanted.retain(|row| missing.binary_search(row).is_ok());
            let placed = slots.borrow_mut().place(&wanted);
            if placed.len() < wanted.len() {
                let message = format!("{} rows of a table at once, there is room for {}", wanted.len(), placed.len());
                return Err(Error::new(ErrorCode::LimitExceeded, message));
            }
            to.upload(&placed, (&missing, &bytes))?;
        }
    }

    /// Marks the row of a token as used.
    pub fn touch(&self, token: u32) {
        self.slots.borrow_mut().missing(&[token]);
    }
}

impl Slotted<'_> {
    fn upload(&self, placed: &[Placed], (read, bytes): (&[u32], &[u8])) -> Result<()> {
        let Self { device, table, cache } = *self;
        let row_bytes = cache.row_bytes() as usize;
        let staging = Staging { device, table, buffer: cache.staging };
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

    fn write_slot(&self, slot_of_row: Slice, row: u32, slot: u32) {
        self.device.write(self.table.get(slot_of_row.buffer), u64::from(row) * 4, &slot.to_le_bytes());
    }
}

fn check_rows(rows: usize, found: usize, cache: &RowCache) -> Result<()> {
    let expected = rows * cache.row_bytes() as usize;
    if found == expected {
        return Ok(());
    }
    let message = format!("{rows} rows of a table take {expected} bytes, the source gave {found}");
    Err(Error::new(ErrorCode::DownloadFailed, message))
}

/// Groups placed rows by neighbouring slots.
fn ranges(placed: &[Placed]) -> Vec<RowRange> {
    let neighbours = placed.chunk_by(|a, b| a.slot + 1 == b.slot);
    neighbours.map(|run| RowRange { first: run[0].slot, rows: run.len() as u32 }).collect()
}
