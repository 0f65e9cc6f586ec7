//! Runs a large product of `harness` on a device: for the reading speed on `www/kernels.html`.

use super::Device;
use super::run::Run;
use crate::harness::{Large, Random};
use crate::kernels::pass::Pass;
use crate::{Error, ErrorCode, Result};

/// Bytes of weights that are made on the host; the rest of the matrix are copies of them.
const PIECE_BYTES: usize = 8 << 20;

/// Bit 14 of every f16: cleared, so that none is infinite or NaN and all are below 2.
const BIT_14: u64 = 0x4000_4000_4000_4000;

/// Bit 10 of every f16: set, so that none is subnormal.
const BIT_10: u64 = 0x0400_0400_0400_0400;

/// A large product whose buffers and command list are on a device, until it is dropped.
pub struct LargeRun<'a> {
    device: &'a Device,
    run: Run<'a>,
    large: &'a Large,
}

impl<'a> LargeRun<'a> {
    /// Makes the buffers, fills them with numbers, and records the dispatch.
    ///
    /// # Errors
    /// `limit_exceeded` where the device does not hold the matrix.
    pub fn new(device: &'a Device, large: &'a Large) -> Result<Self> {
        if let Some(needs) = &large.needs {
            return Err(Error::new(ErrorCode::LimitExceeded, format!("needs {needs}")));
        }
        let run = Run::new(device, large.buffers.into_iter(), std::slice::from_ref(&large.dispatch), 1)?;
        let random = &mut Random::new(1);
        run.write(Large::PASS, &Pass::constant().bytes());
        run.write(Large::X, bytemuck::cast_slice(&random.floats(run.buffer(Large::X).size() as usize / 4)));
        let run = Self { device, run, large };
        run.fill_weights(random)?;
        Ok(run)
    }

    /// Random bits, but scales are ordinary numbers as in models: others might be slower.
    fn fill_weights(&self, random: &mut Random) -> Result<()> {
        let words: Vec<u64> = (0..PIECE_BYTES / 8).map(|_| random.bits() & !BIT_14 | BIT_10).collect();
        let usage = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let piece = self.device.buffer("piece", PIECE_BYTES as u64, usage)?;
        self.device.queue.write_buffer(&piece, 0, bytemuck::cast_slice(&words));
        let mut encoder = self.device.raw.create_command_encoder(&Default::default());
        for at in (0..self.large.bytes).step_by(PIECE_BYTES) {
            let bytes = (self.large.bytes - at).min(PIECE_BYTES as u64);
            encoder.copy_buffer_to_buffer(&piece, 0, self.run.buffer(Large::WEIGHTS), at, Some(bytes));
        }
        self.device.queue.submit([encoder.finish()]);
        Ok(())
    }

    /// Runs once, so that the pipeline is compiled, and checks that the last row was written: a kernel that does
    /// nothing would look fast.
    ///
    /// # Errors
    /// What the shader's compiler found, or what the GPU reported.
    pub async fn check(&self) -> Result<()> {
        self.submit(1);
        let last = self.run.buffer(Large::Y).size() - 4;
        let row = self.run.read(Large::Y, last, 4).await?;
        if row != [0; 4] {
            return Ok(());
        }
        Err(Error::new(ErrorCode::DeviceLost, format!("{} did not write its last row", self.large.variant)))
    }

    /// Submits the dispatch, `repeats` times in one pass.
    pub fn submit(&self, repeats: u32) {
        self.run.submit(repeats);
    }
}
