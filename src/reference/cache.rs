//! Keys and values of the tokens so far.

use crate::error::{Error, ErrorCode, Result};
use crate::gguf::f16_from_f32;

/// How keys and values are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CacheFormat {
    /// Rounded to f16, like the GPU's cache: the same answers, half the memory.
    #[default]
    F16,
    /// As computed.
    F32,
}

/// A number in a cache: `f32`, or the bits of an f16 in a `u16`.
pub trait CacheElement: Copy {
    /// Rounds a number to what the cache keeps.
    fn from_f32(x: f32) -> Self;
    /// Its value.
    fn to_f32(self) -> f32;
}

impl CacheElement for f32 {
    fn from_f32(x: f32) -> Self {
        x
    }

    fn to_f32(self) -> f32 {
        self
    }
}

impl CacheElement for u16 {
    fn from_f32(x: f32) -> Self {
        f16_from_f32(x)
    }

    /// Without branches, so that the compiler vectorises it: attention reads the whole cache for every token.
    fn to_f32(self) -> f32 {
        // An f16's bits, read as an f32's, give a number 2^112 too small: the difference of the exponent biases.
        const REBASE: f32 = f32::from_bits((127 + 112) << 23);
        let (sign, magnitude) = (u32::from(self & 0x8000) << 16, u32::from(self & 0x7fff));
        let finite = (f32::from_bits(magnitude << 13) * REBASE).to_bits();
        let endless = if magnitude >= 0x7c00 { 0xff << 23 } else { 0 };
        f32::from_bits(finite | endless | sign)
    }
}

/// Keys and values of one layer, each `[positions, kv_heads · head_dim]`, growing with the text.
#[derive(Debug, Default)]
pub(super) struct Rows<T> {
    pub keys: Vec<T>,
    pub values: Vec<T>,
}

impl<T: CacheElement> Rows<T> {
    /// Replaces everything from element `start` on.
    fn write(&mut self, start: usize, keys: &[f32], values: &[f32]) -> Result<()> {
        for (rows, new) in [(&mut self.keys, keys), (&mut self.values, values)] {
            rows.truncate(start);
            rows.try_reserve(new.len()).map_err(|_| {
                let bytes = (start + new.len()) * size_of::<T>();
                Error::new(ErrorCode::OutOfMemory, format!("no memory for a cache of {bytes} bytes in one layer"))
            })?;
            rows.extend(new.iter().map(|&x| T::from_f32(x)));
        }
        Ok(())
    }
}

/// Keys and values of one layer in either format.
#[derive(Debug)]
pub(super) enum LayerCache {
    F16(Rows<u16>),
    F32(Rows<f32>),
}

impl LayerCache {
    pub fn new(format: CacheFormat) -> Self {
        match format {
            CacheFormat::F16 => Self::F16(Rows::default()),
            CacheFormat::F32 => Self::F32(Rows::default()),
        }
    }

    /// Stores `keys` and `values` `[tokens, width]` from `position` on and forgets what was there.
    pub fn write(&mut self, position: usize, width: usize, keys: &[f32], values: &[f32]) -> Result<()> {
        match self {
            Self::F16(rows) => rows.write(position * width, keys, values),
            Self::F32(rows) => rows.write(position * width, keys, values),
        }
    }
}
