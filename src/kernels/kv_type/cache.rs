//! Keys and values of the tokens so far.

use crate::error::{Error, ErrorCode, Result};
use crate::gguf::{GgmlType, f16_from_f32, f16_to_f32};
use crate::kernels::kv_type::KvType;
use crate::kernels::kv_type::cache_blocks::BlockRows;
use crate::simd::widen_f16;

/// How keys and values are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheFormat {
    /// As the GPU's cache has them: the same answers, and memory saved.
    Rounded(KvType),
    /// As computed.
    F32,
}

impl CacheFormat {
    /// Rounded to f16.
    pub const F16: Self = Self::Rounded(KvType::F16);
}

/// A number in a cache: `f32`, or the bits of an f16 in a `u16`.
pub trait CacheElement: Copy {
    /// Rounds a number to what the cache keeps.
    fn from_f32(x: f32) -> Self;
    /// The value as f32.
    fn to_f32(self) -> f32;
    /// The values of a row.
    fn read(row: &[Self], out: &mut [f32]);
}

impl CacheElement for f32 {
    fn from_f32(x: f32) -> Self {
        x
    }

    fn to_f32(self) -> f32 {
        self
    }

    fn read(row: &[Self], out: &mut [f32]) {
        out.copy_from_slice(row);
    }
}

impl CacheElement for u16 {
    fn from_f32(x: f32) -> Self {
        f16_from_f32(x)
    }

    fn to_f32(self) -> f32 {
        f16_to_f32(self)
    }

    fn read(row: &[Self], out: &mut [f32]) {
        widen_f16(bytemuck::cast_slice(row), out);
    }
}

/// Keys or values `[positions, heads, head_dim]`, whatever they are kept as.
pub trait HeadRows {
    /// Rows of this many values that are there, of all heads together.
    fn rows(&self, head_dim: usize) -> usize;

    /// Row `row`, counted over all heads of all positions, as f32 `[head_dim]`.
    fn read(&self, row: usize, out: &mut [f32]);
}

impl<T: CacheElement> HeadRows for &[T] {
    fn rows(&self, head_dim: usize) -> usize {
        self.len() / head_dim
    }

    fn read(&self, row: usize, out: &mut [f32]) {
        T::read(&self[row * out.len()..][..out.len()], out);
    }
}

impl<T: CacheElement> HeadRows for Vec<T> {
    fn rows(&self, head_dim: usize) -> usize {
        self.as_slice().rows(head_dim)
    }

    fn read(&self, row: usize, out: &mut [f32]) {
        self.as_slice().read(row, out);
    }
}

/// Keys or values of one layer, growing with the text.
#[derive(Debug, Clone)]
enum Stored {
    Halves(Vec<u16>),
    Floats(Vec<f32>),
    Blocks(BlockRows),
}

impl Stored {
    fn new(format: CacheFormat) -> Self {
        match format {
            CacheFormat::F32 => Self::Floats(Vec::new()),
            CacheFormat::Rounded(KvType::F16) => Self::Halves(Vec::new()),
            CacheFormat::Rounded(KvType::Q8_0) => Self::Blocks(BlockRows::new(GgmlType::Q8_0)),
            CacheFormat::Rounded(KvType::Q4_0) => Self::Blocks(BlockRows::new(GgmlType::Q4_0)),
        }
    }

    fn as_rows(&self) -> &dyn HeadRows {
        match self {
            Self::Halves(rows) => rows,
            Self::Floats(rows) => rows,
            Self::Blocks(rows) => rows,
        }
    }

    /// Bytes of a row of a head.
    fn row_bytes(&self, head_dim: usize) -> usize {
        match self {
            Self::Halves(_) => head_dim * size_of::<u16>(),
            Self::Floats(_) => head_dim * size_of::<f32>(),
            Self::Blocks(rows) => rows.row_bytes(head_dim),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Halves(rows) => bytemuck::cast_slice(rows),
            Self::Floats(rows) => bytemuck::cast_slice(rows),
            Self::Blocks(rows) => &rows.bytes,
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Halves(rows) => bytemuck::cast_slice_mut(rows),
            Self::Floats(rows) => bytemuck::cast_slice_mut(rows),
            Self::Blocks(rows) => &mut rows.bytes,
        }
    }

    /// Reserves memory for this many bytes in all.
    fn reserve(&mut self, bytes: usize) -> Result<()> {
        match self {
            Self::Halves(rows) => reserve(rows, bytes / size_of::<u16>()),
            Self::Floats(rows) => reserve(rows, bytes / size_of::<f32>()),
            Self::Blocks(rows) => reserve(&mut rows.bytes, bytes),
        }
    }

    /// Cuts to this many bytes, or fills up with zeros.
    fn resize(&mut self, bytes: usize) {
        match self {
            Self::Halves(rows) => rows.resize(bytes / size_of::<u16>(), 0),
            Self::Floats(rows) => rows.resize(bytes / size_of::<f32>(), 0.0),
            Self::Blocks(rows) => rows.bytes.resize(bytes, 0),
        }
    }

    /// Drops this many bytes at the start.
    fn forget(&mut self, bytes: usize) {
        match self {
            Self::Halves(rows) => drop(rows.drain(..bytes / size_of::<u16>())),
            Self::Floats(rows) => drop(rows.drain(..bytes / size_of::<f32>())),
            Self::Blocks(rows) => drop(rows.bytes.drain(..bytes)),
        }
    }

    /// Replaces everything from row `start` on.
    fn write(&mut self, start: usize, head_dim: usize, new: &[f32]) -> Result<()> {
        match self {
            Self::Halves(rows) => append(rows, start * head_dim, new.iter().map(|&x| u16::from_f32(x))),
            Self::Floats(rows) => append(rows, start * head_dim, new.iter().copied()),
            Self::Blocks(rows) => {
                let at = start * rows.row_bytes(head_dim);
                let bytes: Vec<u8> = new.chunks_exact(head_dim).flat_map(|row| rows.round(row)).collect();
                append(&mut rows.bytes, at, bytes.into_iter())
            }
        }
    }
}

/// Replaces everything from element `start` on.
fn append<T>(stored: &mut Vec<T>, start: usize, new: impl ExactSizeIterator<Item = T>) -> Result<()> {
    stored.truncate(start);
    reserve(stored, start + new.len())?;
    stored.extend(new);
    Ok(())
}

/// Reserves memory for this many elements in all.
fn reserve<T>(stored: &mut Vec<T>, count: usize) -> Result<()> {
    stored.try_reserve(count.saturating_sub(stored.len())).map_err(|_| {
        let bytes = count.saturating_mul(size_of::<T>());
        Error::new(ErrorCode::OutOfMemory, format!("no memory for a cache of {bytes} bytes in one layer"))
    })
}

/// Keys and values of one layer.
#[derive(Debug, Clone)]
pub(crate) struct LayerCache {
    keys: Stored,
    values: Stored,
}

impl LayerCache {
    pub fn new(format: CacheFormat) -> Self {
        Self { keys: Stored::new(format), values: Stored::new(format) }
    }

    /// Keys, and values.
    pub fn rows(&self) -> [&dyn HeadRows; 2] {
        [self.keys.as_rows(), self.values.as_rows()]
    }

    /// Bytes of the keys of a position in all heads, and of its values.
    pub fn position_bytes(&self, [heads, head_dim]: [usize; 2]) -> usize {
        heads * self.keys.row_bytes(head_dim)
    }

    /// The bytes of all keys (0) or all values (1), position after position.
    pub fn bytes(&self, part: usize) -> &[u8] {
        [&self.keys, &self.values][part].bytes()
    }

    /// The same, to be changed.
    pub fn bytes_mut(&mut self, part: usize) -> &mut [u8] {
        [&mut self.keys, &mut self.values][part].bytes_mut()
    }

    /// Reserves memory for this many bytes of keys and as many of values.
    pub fn reserve(&mut self, bytes: usize) -> Result<()> {
        self.keys.reserve(bytes)?;
        self.values.reserve(bytes)
    }

    /// Cuts keys and values to this many bytes each, or fills them up with zeros.
    pub fn resize(&mut self, bytes: usize) {
        self.keys.resize(bytes);
        self.values.resize(bytes);
    }

    /// Drops this many bytes of keys, and as many of values, at the start.
    pub fn forget(&mut self, bytes: usize) {
        self.keys.forget(bytes);
        self.values.forget(bytes);
    }

    /// Stores keys and values `[tokens, heads, head_dim]` from `position` on and forgets what was there.
    pub fn write(&mut self, position: usize, [heads, head_dim]: [usize; 2], [keys, values]: [&[f32]; 2]) -> Result<()> {
        self.keys.write(position * heads, head_dim, keys)?;
        self.values.write(position * heads, head_dim, values)
    }
}
