//! A tensor that frees itself.

use std::fmt;
use std::rc::Rc;

use half::{bf16, f16};

use super::device::Element;
use super::{Device, Shape};
use crate::tensor::{DType, Tape, Tensor as Plain};
use crate::{Error, Result};

/// Numbers on the GPU: row-major, contiguous, of a type and a shape.
///
/// A clone is the same tensor. Its memory is free for other tensors when the last clone is dropped; operations that
/// were called before still see it. Tensors of different devices do not mix: that is `invalid_argument`.
#[derive(Clone)]
pub struct Tensor {
    owned: Rc<Owned>,
}

struct Owned {
    device: Device,
    plain: Plain,
    shape: Shape,
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.device.free(&self.plain);
    }
}

impl Tensor {
    pub(super) fn new(device: Device, plain: Plain) -> Self {
        let shape = plain.shape.clone().into();
        Self { owned: Owned { device, plain, shape }.into() }
    }

    /// Elements along each axis.
    pub fn shape(&self) -> &Shape {
        &self.owned.shape
    }

    /// How elements are stored.
    pub fn dtype(&self) -> DType {
        self.plain().dtype
    }

    /// The device that it is on.
    pub fn device(&self) -> &Device {
        &self.owned.device
    }

    /// Waits until everything the tensor depends on is computed, and copies its numbers from the GPU: those of f32,
    /// and of f16 and bf16 as f32.
    ///
    /// # Errors
    /// `invalid_argument` for other types; `device_lost` and `out_of_memory`, as the driver reports them, also for what
    /// earlier operations met.
    pub async fn read(&self) -> Result<Vec<f32>> {
        match self.dtype() {
            DType::F16 => {
                Ok(self.elements::<u16>().await?.into_iter().map(|bits| f16::from_bits(bits).into()).collect())
            }
            DType::BF16 => {
                Ok(self.elements::<u16>().await?.into_iter().map(|bits| bf16::from_bits(bits).into()).collect())
            }
            _ => self.read_as().await,
        }
    }

    /// As [`Tensor::read`], the numbers of a tensor of `u32`, `i32` or `f32`.
    ///
    /// # Errors
    /// As those of [`Tensor::read`].
    pub async fn read_as<T: Element>(&self) -> Result<Vec<T>> {
        if self.dtype() != T::DTYPE {
            let message = format!("data: {self} has no {} numbers; cast it first", T::DTYPE.name());
            return Err(Error::invalid_argument(message));
        }
        self.elements().await
    }

    /// The number of a tensor with one element.
    ///
    /// # Errors
    /// `invalid_argument` for more elements; otherwise as [`Tensor::read`].
    pub async fn item(&self) -> Result<f32> {
        match self.shape().elements() {
            1 => Ok(self.read().await?[0]),
            count => Err(Error::invalid_argument(format!("item: {self} has {count} elements, not one"))),
        }
    }

    /// The first elements of the buffer, which may be padded.
    async fn elements<T: bytemuck::Pod>(&self) -> Result<Vec<T>> {
        let bytes = self.device().read(self.plain()).await?;
        let len = self.plain().len() as usize * size_of::<T>();
        Ok(bytemuck::pod_collect_to_vec(&bytes[..len]))
    }

    /// As operations take it.
    pub(super) fn plain(&self) -> &Plain {
        &self.owned.plain
    }

    /// Queues an operation of this tensor and others.
    pub(super) fn record<T>(
        &self,
        op: &str,
        others: &[Option<&Tensor>],
        record: impl FnOnce(&mut Tape) -> Result<T>,
    ) -> Result<T> {
        if let Some(other) = others.iter().flatten().find(|other| !self.device().is(other.device())) {
            return Err(Error::invalid_argument(format!("{op}: {self} and {other} belong to different devices")));
        }
        self.device().record(record)
    }

    /// As [`Tensor::record`], for an operation that makes a tensor.
    pub(super) fn make(
        &self,
        op: &str,
        others: &[Option<&Tensor>],
        record: impl FnOnce(&mut Tape) -> Result<Plain>,
    ) -> Result<Tensor> {
        self.record(op, others, record).map(|made| self.device().own(made))
    }
}

/// As operations take an input that may be missing.
pub(super) fn plain(tensor: Option<&Tensor>) -> Option<&Plain> {
    tensor.map(Tensor::plain)
}

/// `[2, 3] f32`
impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.plain().describe())
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({self})")
    }
}
