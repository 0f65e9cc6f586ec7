//! Runs the tapes of `tensor`: their buffers, from a pool, and their dispatches, many to a submit.

use std::rc::Rc;

use super::buffer::{Buffer, BufferTable};
use super::device::Device;
use super::list::{Step, UNIFORM_ALIGN};
use crate::kernels::pass::Pass;
use crate::kernels::spec::{BufferId, Dispatch};
use crate::tensor::pool::Pool;
use crate::tensor::{DType, DUMMY, Made, PASS, Tape, Tensor};
use crate::{Error, Result};

/// Dispatches between submits: their parameters share one uniform buffer.
const BATCH: usize = 256;

/// Bytes of free buffers that are kept for the next tensors, on a small device and on a large one: a layer of a model
/// with a billion weights computes 1 GB for 2,048 tokens, and making buffers for that takes longer than filling them.
const POOL_BYTES: [u64; 2] = [256 << 20, 1 << 30];

/// A device for operations on tensors. Operations are queued; only [`TensorGpu::read`] waits.
pub struct TensorGpu {
    device: Rc<Device>,
    tape: Tape,
    buffers: BufferTable,
    pool: Pool<Rc<Buffer>>,
    uniform: Buffer,
    params: Vec<u8>,
    steps: Vec<Step>,
}

impl TensorGpu {
    /// Operations on tensors on a device, which models and others like this may share.
    ///
    /// # Errors
    /// `limit_exceeded` for a device whose buffers hold nearly nothing.
    pub fn new(device: Rc<Device>) -> Result<Self> {
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let uniform = device.buffer("params", BATCH as u64 * UNIFORM_ALIGN, usage)?;
        let mut buffers = BufferTable::default();
        buffers.insert(DUMMY, device.buffer("dummy", 16, wgpu::BufferUsages::STORAGE)?);
        let rows = Pass::constant().bytes();
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        buffers.insert(PASS, device.buffer("constant rows", rows.len() as u64, usage)?);
        device.queue.write_buffer(buffers.get(PASS), 0, &rows);
        let tape = Tape::new(device.caps.clone());
        let [least, most] = POOL_BYTES;
        let pool = Pool::new((device.caps.max_buffer / 4).clamp(least, most));
        Ok(Self { device, tape, buffers, pool, uniform, params: Vec::new(), steps: Vec::new() })
    }

    /// The device.
    pub fn device(&self) -> &Rc<Device> {
        &self.device
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

    /// A tensor for others to fill, such as with the hidden states of a model. It holds whatever was there before.
    ///
    /// # Errors
    /// `invalid_argument` and `limit_exceeded` as operations that make such a tensor.
    pub fn output(&mut self, dtype: DType, shape: &[u32]) -> Result<Tensor> {
        self.record(|tape| tape.output(dtype, shape))
    }

    /// A tensor in a buffer that others have, too, such as a model's weights.
    pub fn adopt(&mut self, dtype: DType, shape: &[u32], buffer: Rc<Buffer>) -> Tensor {
        let tensor = self.tape.adopted(dtype, shape);
        self.buffers.insert(tensor.buffer, buffer);
        tensor
    }

    /// The buffer of a tensor, with what is queued submitted: what is submitted from now on comes after it.
    pub fn buffer(&mut self, tensor: &Tensor) -> Rc<Buffer> {
        self.flush();
        self.buffers.get(tensor.buffer).clone()
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
        let (device, buffer) = (self.device.clone(), self.buffers.get(tensor.buffer).clone());
        let bytes = tensor.dtype.bytes(&tensor.shape);
        async move {
            let found = device.read(&buffer, 0, bytes).await;
            // What tensors did wrong is known by now. Of a buffer that was not made, or a shader that did not compile,
            // WebGPU says more: what uses it is invalid, too.
            let caused = device.check_tensors();
            if found.is_err() || caused.is_err() {
                // All of that comes before this, and is none of the next read's.
                let _ = device.finish().await;
                let _ = device.check_tensors();
            }
            caused.and(found)
        }
    }

    /// Returns the tensor's buffer to the pool. Operations that are queued already still see its contents.
    pub fn free(&mut self, tensor: &Tensor) {
        self.recycle(tensor.buffer);
    }

    /// Submits what is queued.
    pub fn flush(&mut self) {
        if self.steps.is_empty() {
            return;
        }
        let Self { device, steps, uniform, params, .. } = self;
        device.for_tensors(|| {
            device.queue.write_buffer(uniform, 0, params);
            let mut encoder = device.raw.create_command_encoder(&Default::default());
            let mut pass = encoder.begin_compute_pass(&Default::default());
            steps.drain(..).for_each(|step| step.encode(&mut pass, 1));
            drop(pass);
            device.queue.submit([encoder.finish()]);
        });
        self.params.clear();
    }

    fn make(&mut self, made: &Made) -> Result<()> {
        let size = made.bytes.next_multiple_of(256);
        let buffer = match self.pool.take(size) {
            Some(buffer) => buffer,
            None => self.device.for_tensors(|| self.device.storage_buffer("tensor", size))?.into(),
        };
        self.buffers.insert(made.buffer, buffer);
        if let Some(contents) = &made.contents {
            self.write(made.buffer, contents);
        }
        Ok(())
    }

    /// Writes a buffer that may have served queued operations before.
    fn write(&mut self, id: BufferId, bytes: &[u8]) {
        self.flush();
        let mut bytes = std::borrow::Cow::from(bytes);
        if !bytes.len().is_multiple_of(4) {
            let whole = bytes.len().next_multiple_of(4);
            bytes.to_mut().resize(whole, 0);
        }
        self.device.queue.write_buffer(self.buffers.get(id), 0, &bytes);
    }

    fn queue(&mut self, dispatch: &Dispatch) {
        if self.steps.len() == BATCH {
            self.flush();
        }
        let offset = self.steps.len() as u64 * UNIFORM_ALIGN;
        self.params.resize(offset as usize, 0);
        self.params.extend_from_slice(&dispatch.params);
        self.params.resize(self.params.len().next_multiple_of(16), 0);
        self.steps.push(Step::new(&self.device, dispatch, (&self.uniform, offset), &self.buffers));
    }

    fn recycle(&mut self, id: BufferId) {
        let Some(buffer) = self.buffers.remove(id) else { return };
        if Rc::strong_count(&buffer) > 1 {
            // Whoever else has it may drop it while operations are queued that use it.
            return self.flush();
        }
        let leaving = self.pool.put(buffer.size(), buffer);
        if !leaving.is_empty() {
            // Queued operations may use them.
            self.flush();
        }
    }
}
