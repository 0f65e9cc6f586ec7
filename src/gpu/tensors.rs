//! Runs the tapes of `tensor`: their buffers, from a pool, and their dispatches, many to a submit.

use std::collections::HashMap;

use super::device::Gpu;
use super::list::{BufferTable, Step, UNIFORM_ALIGN};
use crate::kernels::spec::Dispatch;
use crate::tensor::{DType, DUMMY, Made, Tape, Tensor};
use crate::{Error, Result};

/// Dispatches between submits: their parameters share one uniform buffer.
const BATCH: usize = 256;

/// Bytes of free buffers that are kept for the next tensors.
const POOL_BYTES: u64 = 256 << 20;

/// A device for operations on tensors. Operations are queued; only [`TensorGpu::read`] waits.
pub struct TensorGpu {
    gpu: std::rc::Rc<Gpu>,
    tape: Tape,
    buffers: BufferTable,
    free: HashMap<u64, Vec<wgpu::Buffer>>,
    free_bytes: u64,
    uniform: wgpu::Buffer,
    params: Vec<u8>,
    steps: Vec<Step>,
}

impl TensorGpu {
    /// Opens a device of its own.
    ///
    /// # Errors
    /// `webgpu_unavailable` where the browser has no WebGPU or no adapter.
    pub async fn open() -> Result<Self> {
        let gpu = Gpu::open().await?;
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let uniform = gpu.buffer("params", BATCH as u64 * UNIFORM_ALIGN, usage)?;
        let mut buffers = BufferTable::default();
        buffers.insert(DUMMY, gpu.buffer("dummy", 16, wgpu::BufferUsages::STORAGE)?);
        let tape = Tape::new(gpu.caps.clone());
        Ok(Self {
            gpu: gpu.into(),
            tape,
            buffers,
            free: HashMap::new(),
            free_bytes: 0,
            uniform,
            params: Vec::new(),
            steps: Vec::new(),
        })
    }

    /// The device.
    pub fn gpu(&self) -> &std::rc::Rc<Gpu> {
        &self.gpu
    }

    /// A tensor of these bytes: little-endian elements in order, or the packed layout of a quantised matrix.
    ///
    /// # Errors
    /// `invalid_argument` where the shape wants another number of bytes.
    pub fn upload(&mut self, dtype: DType, shape: &[u32], bytes: &[u8]) -> Result<Tensor> {
        let tensor = self.record(|tape| tape.output(dtype, shape))?;
        let expected = match dtype {
            DType::F16 | DType::BF16 => 2 * u64::from(tensor.len()),
            _ => dtype.bytes(shape),
        };
        if bytes.len() as u64 != expected {
            self.free(&tensor);
            let message = format!("a tensor {} takes {expected} bytes, found {}", tensor.describe(), bytes.len());
            return Err(Error::invalid_argument(message));
        }
        self.write(tensor.buffer, bytes);
        Ok(tensor)
    }

    /// Lets `record` write operations on the tape, and queues them.
    pub fn record<T>(&mut self, record: impl FnOnce(&mut Tape) -> Result<T>) -> Result<T> {
        let outcome = record(&mut self.tape);
        let (made, dispatches) = self.tape.take();
        let value = outcome?;
        for made in &made {
            self.make(made)?;
        }
        dispatches.iter().for_each(|dispatch| self.queue(dispatch));
        for made in made.iter().filter(|made| made.temporary) {
            self.recycle(made.buffer);
        }
        Ok(value)
    }

    /// Submits what is queued, and copies the tensor back once it is done.
    ///
    /// # Errors
    /// `device_lost` and `out_of_memory` as the browser reports them.
    pub fn read(&mut self, tensor: &Tensor) -> impl Future<Output = Result<Vec<u8>>> + use<> {
        self.flush();
        let (gpu, buffer) = (self.gpu.clone(), self.buffers.get(tensor.buffer).clone());
        let bytes = tensor.dtype.bytes(&tensor.shape);
        async move { gpu.read(&buffer, 0, bytes).await }
    }

    /// Gives the tensor's buffer to later ones. Operations that are queued still see it.
    pub fn free(&mut self, tensor: &Tensor) {
        self.recycle(tensor.buffer);
    }

    /// Submits what is queued.
    pub fn flush(&mut self) {
        if self.steps.is_empty() {
            return;
        }
        self.gpu.queue.write_buffer(&self.uniform, 0, &self.params);
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        self.steps.drain(..).for_each(|step| step.encode(&mut pass, 1));
        drop(pass);
        self.gpu.queue.submit([encoder.finish()]);
        self.params.clear();
    }

    fn make(&mut self, made: &Made) -> Result<()> {
        let size = made.bytes.next_multiple_of(256);
        let buffer = match self.free.get_mut(&size).and_then(Vec::pop) {
            Some(buffer) => {
                self.free_bytes -= size;
                buffer
            }
            None => {
                let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
                self.gpu.buffer("tensor", size, usage)?
            }
        };
        self.buffers.insert(made.buffer, buffer);
        if let Some(contents) = &made.contents {
            self.write(made.buffer, contents);
        }
        Ok(())
    }

    /// Writes a buffer that may have served queued operations before.
    fn write(&mut self, id: crate::kernels::spec::BufferId, bytes: &[u8]) {
        self.flush();
        let mut bytes = std::borrow::Cow::from(bytes);
        if !bytes.len().is_multiple_of(4) {
            let whole = bytes.len().next_multiple_of(4);
            bytes.to_mut().resize(whole, 0);
        }
        self.gpu.queue.write_buffer(self.buffers.get(id), 0, &bytes);
    }

    fn queue(&mut self, dispatch: &Dispatch) {
        if self.steps.len() == BATCH {
            self.flush();
        }
        let offset = self.steps.len() as u64 * UNIFORM_ALIGN;
        self.params.resize(offset as usize, 0);
        self.params.extend_from_slice(&dispatch.params);
        self.params.resize(self.params.len().next_multiple_of(16), 0);
        self.steps.push(Step::new(&self.gpu, dispatch, (&self.uniform, offset), &self.buffers));
    }

    fn recycle(&mut self, id: crate::kernels::spec::BufferId) {
        let Some(buffer) = self.buffers.remove(id) else { return };
        if self.free_bytes + buffer.size() > POOL_BYTES {
            self.flush();
            self.gpu.destroy_buffer(&buffer);
            return;
        }
        self.free_bytes += buffer.size();
        self.free.entry(buffer.size()).or_default().push(buffer);
    }
}
