//! Buffers that go when their last user does, and the table by which dispatches find them.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Deref;
use std::rc::Rc;

use super::device::Device;
use crate::forward::BufferSpec;
use crate::kernels::spec::BufferId;
use crate::{Error, ErrorCode, Result};

/// A buffer on a device. Dropping it destroys it: what was submitted before still runs.
#[derive(Debug)]
pub struct Buffer {
    raw: wgpu::Buffer,
    /// Bytes of all buffers of the device.
    in_use: Rc<Cell<u64>>,
}

impl Deref for Buffer {
    type Target = wgpu::Buffer;

    fn deref(&self) -> &wgpu::Buffer {
        &self.raw
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.in_use.set(self.in_use.get().saturating_sub(self.raw.size()));
        self.raw.destroy();
    }
}

impl Device {
    /// A buffer for kernels, which can be written, copied from and copied to; see [`Device::buffer`].
    ///
    /// # Errors
    /// Those of [`Device::buffer`].
    pub fn storage_buffer(&self, label: &str, size: u64) -> Result<Buffer> {
        self.buffer(label, size, STORAGE)
    }

    /// The same for one that is bound as a whole.
    ///
    /// # Errors
    /// `limit_exceeded` where it is too large for a buffer or a binding of the device.
    pub fn bound_buffer(&self, label: &str, size: u64) -> Result<Buffer> {
        // The device's own limit: `caps` may hold a smaller one, by which matrices are cut.
        let most = self.raw.limits().max_storage_buffer_binding_size;
        if size > most {
            let message = format!("{label} takes {size} bytes, a binding of this device holds {most}");
            return Err(Error::new(ErrorCode::LimitExceeded, message));
        }
        self.storage_buffer(label, size)
    }

    /// A zeroed buffer of at least `size` bytes (a multiple of 4, at least 16).
    ///
    /// # Errors
    /// `limit_exceeded` where `size` is over the device's `maxBufferSize`.
    pub fn buffer(&self, label: &str, size: u64, usage: wgpu::BufferUsages) -> Result<Buffer> {
        if size > self.caps.max_buffer {
            let message = format!("{label} takes {size} bytes, this device's buffers hold {}", self.caps.max_buffer);
            return Err(Error::new(ErrorCode::LimitExceeded, message));
        }
        let size = size.next_multiple_of(4).max(16);
        let descriptor = wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false };
        let raw = self.raw.create_buffer(&descriptor);
        self.in_use.set(self.in_use.get() + size);
        Ok(Buffer { raw, in_use: self.in_use.clone() })
    }
}

/// What the buffers of models and tensors are for.
const STORAGE: wgpu::BufferUsages =
    wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_SRC).union(wgpu::BufferUsages::COPY_DST);

/// The buffers that dispatches name by number. A clone shares them.
#[derive(Default, Clone)]
pub struct BufferTable(HashMap<BufferId, Rc<Buffer>>);

impl BufferTable {
    /// Makes the buffers of a plan, in addition to those that are there.
    ///
    /// # Errors
    /// `limit_exceeded` where one is too large for a buffer or a binding of the device.
    pub fn make(&mut self, device: &Device, specs: &[BufferSpec]) -> Result<()> {
        for spec in specs {
            self.insert(spec.id, device.bound_buffer(&spec.label, spec.bytes)?);
        }
        Ok(())
    }

    /// Adds or replaces a buffer.
    pub fn insert(&mut self, id: BufferId, buffer: impl Into<Rc<Buffer>>) {
        self.0.insert(id, buffer.into());
    }

    /// Adds a buffer that no plan knows and numbers it.
    pub fn add(&mut self, buffer: impl Into<Rc<Buffer>>) -> BufferId {
        let id = BufferId(self.0.keys().map(|id| id.0 + 1).max().unwrap_or(0));
        self.insert(id, buffer);
        id
    }

    /// Takes a buffer out.
    pub fn remove(&mut self, id: BufferId) -> Option<Rc<Buffer>> {
        self.0.remove(&id)
    }

    /// The buffer of this number; a plan that names a buffer it did not allocate is a bug.
    pub fn get(&self, id: BufferId) -> &Rc<Buffer> {
        self.0.get(&id).unwrap_or_else(|| panic!("buffer {} of the plan was not made", id.0))
    }

    /// Bytes of all its buffers.
    pub fn bytes(&self) -> u64 {
        self.0.values().map(|buffer| buffer.size()).sum()
    }
}
