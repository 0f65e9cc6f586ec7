//! Which buffers a model takes: numbers, labels and sizes, before any of them exists.

use crate::kernels::spec::{BufferId, Slice};

/// One buffer of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BufferSpec {
    /// Its number.
    pub id: BufferId,
    /// For debuggers and error messages.
    pub label: String,
    /// Size in bytes.
    pub bytes: u64,
}

impl BufferSpec {
    /// A buffer of at least `bytes` bytes, zero at first: kernels read buffers as vec4, so it is whole vec4, at least
    /// one.
    pub fn new(id: BufferId, label: String, bytes: u64) -> Self {
        Self { id, label, bytes: bytes.next_multiple_of(VEC4_BYTES).max(VEC4_BYTES) }
    }
}

/// Bytes of a `vec4<f32>`.
const VEC4_BYTES: u64 = 16;

/// Hands out buffer numbers.
#[derive(Debug, Default)]
pub struct Plan {
    /// All buffers so far, in order of their numbers.
    pub buffers: Vec<BufferSpec>,
}

impl Plan {
    /// A new buffer; see [`BufferSpec::new`].
    pub fn alloc(&mut self, label: impl Into<String>, bytes: u64) -> BufferId {
        let id = BufferId(self.buffers.len() as u32);
        self.buffers.push(BufferSpec::new(id, label.into(), bytes));
        id
    }

    /// A new buffer of `count` f32 or u32 values.
    pub fn words(&mut self, label: impl Into<String>, count: usize) -> Slice {
        self.alloc(label, count as u64 * 4).into()
    }

    /// Bytes of all buffers.
    pub fn bytes(&self) -> u64 {
        self.buffers.iter().map(|buffer| buffer.bytes).sum()
    }
}
