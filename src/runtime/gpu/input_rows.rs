//! Rows of embeddings that prompts may hold, on the GPU.

use super::model::GpuModel;
use crate::gpu::Buffer;
use crate::model::InputSource;
use crate::runtime::held_rows::HeldRows;
use crate::{Error, Result};

/// Checks the number of values of a source's rows.
///
/// # Errors
/// `invalid_argument` with both numbers.
pub(in crate::runtime) fn check_values(source: InputSource, found: u64, hidden: usize) -> Result<()> {
    let expected = u64::from(source.count) * hidden as u64;
    if found == expected {
        return Ok(());
    }
    let message = format!("{} rows of {hidden} values: expected {expected} values, found {found}", source.count);
    Err(Error::invalid_argument(message))
}

impl GpuModel {
    /// Does what [`AnySession::add_rows`](crate::runtime::AnySession::add_rows) describes, with rows whose number is
    /// checked.
    pub fn add_rows(&self, source: InputSource, rows: &[f32]) -> Result<HeldRows> {
        let ids = self.input_rows.ids().know(source)?;
        let held = match self.input_rows.held(source) {
            Some(held) => held,
            None => {
                let target = self.row_buffer(source)?;
                self.device.write(&target, 0, bytemuck::cast_slice(rows));
                self.input_rows.add(source, target)
            }
        };
        Ok(HeldRows::new(ids, held))
    }

    fn row_buffer(&self, source: InputSource) -> Result<Buffer> {
        let bytes = self.config.row_width() as u64 * 4 * u64::from(source.count);
        self.device.storage_buffer("rows of a prompt", bytes.max(16))
    }
}
