//! How many bytes rows of blocks take, and the names of the types that webgguf does not read.

use crate::error::{Error, Result};
use crate::formats::GgmlType;

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
        24 => "I8",
        25 => "I16",
        26 => "I32",
        27 => "I64",
        28 => "F64",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_are_read_are_not_called_unsupported() {
        for id in 0..256 {
            assert!(GgmlType::from_id(id).is_none() || unsupported_name(id).is_none(), "type {id}");
        }
    }
}
