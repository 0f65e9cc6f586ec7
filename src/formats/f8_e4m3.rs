//! F8_E4M3 (OCP 8-bit Floating Point, revision 1.0): a sign, four bits of exponent (bias 7), three of mantissa,
//! subnormal where the exponent is 0. The largest code of either sign is NaN; there are no infinities.

use super::nvfp4::half_of_ue4m3;
use super::{Format, NumberEncoding, NumberField, quants};

pub(super) static FORMAT: Format = Format {
    id: 43,
    name: "F8_E4M3",
    key: "f8_e4m3",
    file_types: &[(42, "F8_E4M3")],
    block_len: 1,
    block_bytes: 1,
    numbers: &[NumberField { at: 0, encoding: NumberEncoding::E4M3, times: 1.0 }],
    sections: &[quants(32)],
    weights: "weights_f8_e4m3",
    repack: "repack_f8_e4m3",
    dequantize: |bytes, out| {
        for (weight, &byte) in out.iter_mut().zip(bytes) {
            *weight = number(byte);
        }
    },
    dot: None,
    dot_error: 4e-6,
    twin: None,
};

/// The value of a byte.
pub(super) fn number(byte: u8) -> f32 {
    let size = match byte & 127 {
        127 => f32::NAN,
        size => 2.0 * half_of_ue4m3(size),
    };
    if byte < 128 { size } else { -size }
}
