//! The block formats of GGML tensors: how many weights a block holds and how many bytes it takes.

use crate::error::{Error, Result};

/// A tensor type that webgguf can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(non_camel_case_types, reason = "the names are GGML's own")]
pub enum GgmlType {
    F32,
    F16,
    BF16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2_K,
    Q3_K,
    Q4_K,
    Q5_K,
    Q6_K,
}

impl GgmlType {
    /// Every known type.
    pub const ALL: [Self; 13] = [
        Self::F32,
        Self::F16,
        Self::BF16,
        Self::Q4_0,
        Self::Q4_1,
        Self::Q5_0,
        Self::Q5_1,
        Self::Q8_0,
        Self::Q2_K,
        Self::Q3_K,
        Self::Q4_K,
        Self::Q5_K,
        Self::Q6_K,
    ];

    /// (id in the file, name, weights per block, bytes per block)
    const fn row(self) -> (u32, &'static str, usize, usize) {
        match self {
            Self::F32 => (0, "F32", 1, 4),
            Self::F16 => (1, "F16", 1, 2),
            Self::Q4_0 => (2, "Q4_0", 32, 18),
            Self::Q4_1 => (3, "Q4_1", 32, 20),
            Self::Q5_0 => (6, "Q5_0", 32, 22),
            Self::Q5_1 => (7, "Q5_1", 32, 24),
            Self::Q8_0 => (8, "Q8_0", 32, 34),
            Self::Q2_K => (10, "Q2_K", 256, 84),
            Self::Q3_K => (11, "Q3_K", 256, 110),
            Self::Q4_K => (12, "Q4_K", 256, 144),
            Self::Q5_K => (13, "Q5_K", 256, 176),
            Self::Q6_K => (14, "Q6_K", 256, 210),
            Self::BF16 => (30, "BF16", 1, 2),
        }
    }

    /// The type with this id in a GGUF tensor table, if webgguf knows it.
    pub fn from_id(id: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.id() == id)
    }

    /// The id in a GGUF tensor table.
    pub const fn id(self) -> u32 {
        self.row().0
    }

    /// GGML's name, such as `Q4_K`.
    pub const fn name(self) -> &'static str {
        self.row().1
    }

    /// Weights per block.
    pub const fn block_len(self) -> usize {
        self.row().2
    }

    /// Bytes per block.
    pub const fn block_bytes(self) -> usize {
        self.row().3
    }

    /// Whether weights are small integers with a scale per block, not plain numbers.
    pub const fn is_quantised(self) -> bool {
        self.block_len() > 1
    }
}

/// The bytes that a row of `cols` weights takes.
///
/// # Errors
/// `bad_file` where `cols` is no multiple of the block length, or the result does not fit 64 bits.
pub fn row_bytes(ty: GgmlType, cols: u64) -> Result<u64> {
    let block_len = ty.block_len() as u64;
    if !cols.is_multiple_of(block_len) {
        return Err(Error::bad_file(format!(
            "row length {cols} is not a multiple of {block_len}, the block length of {}",
            ty.name()
        )));
    }
    (cols / block_len).checked_mul(ty.block_bytes() as u64).ok_or_else(|| {
        Error::bad_file(format!("row of {cols} weights of {} takes more than {} bytes", ty.name(), u64::MAX))
    })
}

/// GGML's name for a type that webgguf does not read.
pub(super) fn unsupported_name(id: u32) -> Option<&'static str> {
    Some(match id {
        4 => "Q4_2",
        5 => "Q4_3",
        9 => "Q8_1",
        15 => "Q8_K",
        16 => "IQ2_XXS",
        17 => "IQ2_XS",
        18 => "IQ3_XXS",
        19 => "IQ1_S",
        20 => "IQ4_NL",
        21 => "IQ3_S",
        22 => "IQ2_S",
        23 => "IQ4_XS",
        24 => "I8",
        25 => "I16",
        26 => "I32",
        27 => "I64",
        28 => "F64",
        29 => "IQ1_M",
        34 => "TQ1_0",
        35 => "TQ2_0",
        39 => "MXFP4",
        _ => return None,
    })
}
