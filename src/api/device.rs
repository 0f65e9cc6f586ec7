//! A device, and tensors from numbers.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use super::{Shape, Tensor};
use crate::gpu::{Device as Opened, TensorGpu};
use crate::kernels::fill::fill;
use crate::tensor::quantised::{QuantisedOptions, from_blocks};
use crate::tensor::rope::{RopeTableOptions, rope_table};
use crate::tensor::{DType, Tape, Tensor as Plain, describe};
use crate::{Error, Result};

/// A GPU device and the operations on its tensors.
///
/// A clone is the same device. It closes when the last clone and the last tensor on it are dropped. Device and tensors
/// stay on the thread that opened it; a program may open several.
///
/// Every operation returns at once with a tensor that will hold the result, and many go to the GPU together. Only
/// [`Tensor::read`] and [`Device::finish`] wait.
#[derive(Clone)]
pub struct Device {
    gpu: Rc<RefCell<TensorGpu>>,
}

/// A description of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The driver's name for it; in a browser the best that it gives.
    pub name: String,
    /// Lower case: `nvidia`, `amd`, `apple`; empty where it is unknown.
    pub vendor: String,
    /// `vulkan`, `metal`, `dx12`, and `webgpu` in a browser.
    pub backend: &'static str,
    /// A driver that computes on the CPU.
    pub software: bool,
    /// Optional features that kernels use, by their names in WebGPU: `shader-f16`, `subgroups`.
    pub features: Vec<String>,
    /// Smallest and largest subgroup, in threads; 0 where they are unknown.
    pub subgroup_size: (u32, u32),
    /// Bytes that a tensor may have.
    pub max_tensor_bytes: u64,
}

impl DeviceInfo {
    /// What an open device is.
    pub(super) fn of(device: &Opened) -> Self {
        Self {
            name: device.adapter.name.clone(),
            vendor: device.adapter.vendor.clone(),
            backend: device.backend(),
            software: device.adapter.software,
            features: device.adapter.features.clone(),
            subgroup_size: device.caps.subgroup_size,
            max_tensor_bytes: device.largest_binding(),
        }
    }
}

/// `llvmpipe (LLVM 15.0.6, 256 bits) by vulkan`
impl fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {}", self.name, self.backend)
    }
}

/// Numbers that tensors are made of and read as: `f32`, `u32` and `i32`.
pub trait Element: bytemuck::Pod + private::Sealed {
    /// How they are stored.
    const DTYPE: DType;
}

impl Element for f32 {
    const DTYPE: DType = DType::F32;
}

impl Element for u32 {
    const DTYPE: DType = DType::U32;
}

impl Element for i32 {
    const DTYPE: DType = DType::I32;
}

mod private {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for u32 {}
    impl Sealed for i32 {}
}

impl Device {
    /// Opens a device on the fastest adapter, with the adapter's own limits: natively of the machine (wgpu's
    /// environment variables choose otherwise, such as `WGPU_BACKEND=vulkan`), in a page or worker of the browser.
    ///
    /// # Errors
    /// `webgpu_unavailable` where there is no driver or no adapter, `device_lost` where the device fails at once.
    pub async fn new() -> Result<Self> {
        let gpu = TensorGpu::new(Opened::open().await?.into())?;
        Ok(Self { gpu: Rc::new(gpu.into()) })
    }

    /// The description of the device.
    pub fn info(&self) -> DeviceInfo {
        DeviceInfo::of(&self.opened())
    }

    /// Bytes on the GPU: those of tensors, and of buffers that are kept for the next ones (up to 256 MiB).
    pub fn bytes(&self) -> u64 {
        self.opened().bytes()
    }

    /// A tensor of these numbers, in row-major order; `cast` makes it `f16` or `bf16`.
    ///
    /// # Errors
    /// `invalid_argument` where the shape has another number of elements, more than five axes or an empty one;
    /// `limit_exceeded` for more bytes than the device binds.
    pub fn tensor<T: Element>(&self, shape: impl Into<Shape>, numbers: &[T]) -> Result<Tensor> {
        let shape = shape.into();
        if shape.elements() != numbers.len() as u64 {
            let (made, size) = (describe(T::DTYPE, &shape), shape.elements());
            let message = format!("tensor: the shape {made} has {size} elements, the data {}", numbers.len());
            return Err(Error::invalid_argument(message));
        }
        self.tensor_from_bytes(T::DTYPE, shape, bytemuck::cast_slice(numbers))
    }

    /// A tensor of these bytes: little-endian elements in row-major order, or the blocks of a GGUF type as a file has
    /// them, which the GPU takes apart.
    ///
    /// # Errors
    /// `invalid_argument` where the shape takes another number of bytes; otherwise as [`Device::tensor`].
    pub fn tensor_from_bytes(&self, dtype: DType, shape: impl Into<Shape>, bytes: &[u8]) -> Result<Tensor> {
        let shape = shape.into();
        if matches!(dtype, DType::Quantised(_)) {
            return self.blocks(dtype, shape, bytes);
        }
        let made = self.gpu.borrow_mut().upload(dtype, &shape, bytes)?;
        Ok(self.own(made))
    }

    fn blocks(&self, dtype: DType, shape: Shape, bytes: &[u8]) -> Result<Tensor> {
        let mut words = bytes.to_vec();
        words.resize(bytes.len().next_multiple_of(4), 0);
        // A size that does not fit is also too large for a tensor, which reports it.
        let count = u32::try_from(words.len() / 4).unwrap_or(u32::MAX);
        let raw = self.tensor_from_bytes(DType::U32, [count], &words)?;
        let options = QuantisedOptions { dtype: dtype.name(), shape: shape.into() };
        self.make(|tape| from_blocks(tape, raw.plain(), &options))
    }

    /// A tensor of zeros, such as an empty cache.
    ///
    /// # Errors
    /// `invalid_argument` for more than five axes, an empty one, and blocks of a GGUF type; `limit_exceeded` for more
    /// bytes than the device binds.
    pub fn zeros(&self, dtype: DType, shape: impl Into<Shape>) -> Result<Tensor> {
        let shape = shape.into();
        if matches!(dtype, DType::Quantised(_)) {
            let message = format!("zeros: {} is in blocks; zeros are of plain numbers", describe(dtype, &shape));
            return Err(Error::invalid_argument(message));
        }
        self.make(|tape| {
            let made = tape.output(dtype, &shape)?;
            tape.push(fill((dtype.bytes(&shape) / 4) as u32, 0, made.slice()));
            Ok(made)
        })
    }

    /// Cosines and sines for [`Tensor::rope`]: f32 `[positions, dims / 2, 2]`, cosine first, with errors below 1e-5
    /// even beyond position 100,000.
    ///
    /// # Errors
    /// `invalid_argument` for odd dimensions, no positions, and numbers that are not positive.
    pub fn rope_table(&self, options: &RopeTableOptions) -> Result<Tensor> {
        self.make(|tape| rope_table(tape, options))
    }

    /// Waits until all operations so far are done.
    ///
    /// # Errors
    /// `device_lost` and `out_of_memory`, as the driver reports them.
    pub async fn finish(&self) -> Result<()> {
        self.gpu.borrow_mut().flush();
        self.opened().finish().await
    }

    /// Queues an operation.
    pub(super) fn record<T>(&self, record: impl FnOnce(&mut Tape) -> Result<T>) -> Result<T> {
        self.gpu.borrow_mut().record(record)
    }

    /// Queues an operation that makes a tensor.
    pub(super) fn make(&self, record: impl FnOnce(&mut Tape) -> Result<Plain>) -> Result<Tensor> {
        self.record(record).map(|made| self.own(made))
    }

    /// A tensor that frees what was made.
    pub(super) fn own(&self, made: Plain) -> Tensor {
        Tensor::new(self.clone(), made)
    }

    /// Waits for a tensor's bytes.
    pub(super) fn read(&self, tensor: &Plain) -> impl Future<Output = Result<Vec<u8>>> + use<> {
        self.gpu.borrow_mut().read(tensor)
    }

    /// Gives the memory of a tensor back.
    pub(super) fn free(&self, tensor: &Plain) {
        self.gpu.borrow_mut().free(tensor);
    }

    /// Whether this is the same device.
    pub(super) fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.gpu, &other.gpu)
    }

    fn opened(&self) -> Rc<Opened> {
        self.gpu.borrow().device().clone()
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.info())
    }
}
