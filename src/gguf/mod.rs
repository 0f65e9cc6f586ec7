//! GGUF bytes → metadata and tensor table. Knows no GPU and no model.
//!
//! A [`HeaderReader`] takes the file's first bytes in pieces of any size and gives a [`Gguf`]. The tensor data itself
//! never passes through here; what its blocks mean is in `formats`, and [`dequantize`] applies it.
//!
//! Format: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>, versions 2 and 3, little-endian.

mod array;
mod block;
mod cursor;
mod dequantize;
mod foreign;
mod header;
mod metadata;
mod split;
mod table;
mod value;

pub use block::row_bytes;
pub use dequantize::{dequantize, f16_from_f32, f16_to_f32};
pub use header::{HEADER_CAP, HeaderReader};
pub use metadata::Metadata;
pub use value::{Array, Strings, Value};

pub use crate::formats::GgmlType;

/// The header of a GGUF file, or of all files of a split one.
#[derive(Debug, Clone, PartialEq)]
pub struct Gguf {
    /// Format version, 2 or 3.
    pub version: u32,
    /// The key-value pairs.
    pub metadata: Metadata,
    /// The tensors, sorted by part and offset. Empty after a vocabulary-only read.
    pub tensors: Vec<TensorInfo>,
    /// Where the tensor data starts, in bytes from the start of the file. This may lie past the last byte of a file
    /// without tensors, and after a vocabulary-only read it is where the metadata ends.
    pub header_bytes: u64,
    /// Tensors start at multiples of this, counted from `header_bytes`: `general.alignment`, or 32.
    pub alignment: u64,
    /// Digest of the header's bytes, which tells models apart. For a split model it combines the digests of the files.
    pub digest: u64,
}

/// One row of the tensor table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// The name, such as `blk.0.attn_q.weight`.
    pub name: String,
    /// The format of its blocks.
    pub ty: GgmlType,
    /// One to four dimensions, none of them 0. The first is the length of a row, whose elements lie side by side.
    pub dims: Vec<u64>,
    /// Where its data starts, in bytes from the start of its file.
    pub offset: u64,
    /// How many bytes its data takes.
    pub bytes: u64,
    /// Which file of a split model holds it; 0 for a single file.
    pub part: usize,
}

impl TensorInfo {
    /// The number of weights. The reader has checked that this fits.
    pub fn elements(&self) -> u64 {
        self.dims.iter().product()
    }

    /// Where its data ends, in bytes from the start of its file. The reader has checked that this fits.
    pub fn end(&self) -> u64 {
        self.offset + self.bytes
    }
}

/// A name from a file, cut short where it is long, for a message.
pub(crate) fn shown(name: &str) -> String {
    const LONGEST: usize = 96;
    let cut: String = name.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if name.chars().nth(LONGEST).is_some() { format!("{cut}…") } else { cut }
}
