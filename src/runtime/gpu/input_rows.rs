//! Rows of embeddings that prompts may hold, on the GPU.

use super::model::GpuModel;
use crate::gpu::{Buffer, Copy};
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
    /// Does what [`AnySession::add_rows`] describes.
    pub(in crate::runtime) fn add_rows(&self, source: InputSource, rows: &[f32]) -> Result<HeldRows> {
        self.hold(source, |target| {
            self.device.write(target, 0, bytemuck::cast_slice(rows));
            Ok(())
        })
    }

    /// Does the same with rows that are on the GPU already, at the start of a buffer of the model's device.
    ///
    /// # Errors
    /// `invalid_argument` where the buffer is too small; otherwise as for [`AnySession::add_rows`].
    pub fn add_rows_of(&self, source: InputSource, rows: &Buffer) -> Result<HeldRows> {
        self.hold(source, |target| {
            let bytes = self.config.row_width() as u64 * 4 * u64::from(source.count);
            if rows.size() < bytes {
                check_values(source, rows.size() / 4, self.config.row_width())?;
            }
            self.device.copy([Copy { source: rows, source_offset: 0, target, offset: 0, bytes }]);
            Ok(())
        })
    }

    /// The rows of a source, in a buffer that `fill` fills where nobody holds one.
    fn hold(&self, source: InputSource, fill: impl FnOnce(&Buffer) -> Result<()>) -> Result<HeldRows> {
        let ids = self.input_rows.ids().know(source)?;
        let held = match self.input_rows.held(source) {
            Some(held) => held,
            None => {
                let target = self.row_buffer(source)?;
                fill(&target)?;
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
