//! Bytes of a tensor → f32. The oracle of every shader that unpacks weights; what blocks mean is in `formats`.

use half::f16;

use super::block::row_bytes;
use crate::error::{Error, Result};
use crate::formats::GgmlType;

/// Unpacks whole blocks of `ty` into `out`, one f32 per weight.
///
/// # Errors
/// `bad_file` where `out.len()` is no multiple of the block length, `invalid_argument` where `bytes` is not exactly the
/// bytes of `out.len()` weights.
pub fn dequantize(ty: GgmlType, bytes: &[u8], out: &mut [f32]) -> Result<()> {
    let expected = row_bytes(ty, out.len() as u64)?;
    if bytes.len() as u64 != expected {
        return Err(Error::invalid_argument(format!(
            "{} weights of {} take {expected} bytes, found {}",
            out.len(),
            ty.name(),
            bytes.len()
        )));
    }
    (ty.format().dequantize)(bytes, out);
    Ok(())
}

/// The f16 nearest to `value`, ties to even, as its bits.
pub fn f16_from_f32(value: f32) -> u16 {
    f16::from_f32(value).to_bits()
}

/// The value of an f16 given by its bits; exact.
pub fn f16_to_f32(bits: u16) -> f32 {
    f16::from_bits(bits).to_f32()
}
