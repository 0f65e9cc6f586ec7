//! Runs a case of `harness` on a device: for the tests, and for `www/kernels.html`.

use super::Device;
use super::run::Run;
use crate::Result;
use crate::harness::Case;

/// A case whose buffers and command list are on a device, until it is dropped.
pub struct CaseRun<'a> {
    run: Run<'a>,
    case: &'a Case,
}

impl<'a> CaseRun<'a> {
    /// Makes the buffers, fills them, and records the dispatches.
    ///
    /// # Errors
    /// `limit_exceeded` where a buffer of the case is too large for the device.
    pub fn new(device: &'a Device, case: &'a Case) -> Result<Self> {
        let sizes = case.buffers.iter().map(|(id, bytes)| (*id, bytes.len() as u64));
        let run = Run::new(device, sizes, &case.dispatches, case.pass.header.rows)?;
        case.buffers.iter().for_each(|(id, bytes)| run.write(*id, bytes));
        Ok(Self { run, case })
    }

    /// Submits the dispatches, `repeats` times in one pass.
    pub fn submit(&self, repeats: u32) {
        self.run.submit(repeats);
    }

    /// Waits for what was submitted; the bytes that [`Case::check`] wants.
    ///
    /// # Errors
    /// What a shader's compiler found, or what the GPU reported.
    pub async fn output(&self) -> Result<Vec<u8>> {
        self.run.read(self.case.output, 0, self.case.expected.bytes() as u64).await
    }
}
