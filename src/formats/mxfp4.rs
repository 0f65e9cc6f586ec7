//! MXFP4 (OCP Microscaling Formats, version 1.0): an E8M0 exponent, 16 bytes of nibbles; weight = 2^(e − 128) ·
//! CODEBOOK\[q\].

use super::blocks::{blocks, nibble, nibbles};
use super::{Format, Levels, NumberEncoding, NumberField, Twin, quants, scales};

/// The numbers of FP4 (E2M1), doubled so that they are whole: a quant is a sign and a magnitude.
pub(super) static CODEBOOK: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// How the numbers are packed, so that a shader can compute them without a table: most are their own code in two's
/// complement.
static CODES: [u8; 16] = [0, 1, 2, 3, 4, 6, 5, 7, 0, 15, 14, 13, 12, 10, 8, 9];

/// The number of each code; none has 11.
static NUMBERS: [i8; 16] = [0, 1, 2, 3, 4, 8, 6, 12, -8, -12, -6, 0, -4, -3, -2, -1];

pub(super) const LEVELS: Levels = Levels::Codebook(&NUMBERS);

pub(super) static FORMAT: Format = Format {
    id: 39,
    name: "MXFP4",
    key: "mxfp4",
    file_types: &[(38, "MXFP4_MOE")],
    block_len: 32,
    block_bytes: 17,
    numbers: &[NumberField { at: 0, encoding: NumberEncoding::E8M0, times: 12.0 }],
    sections: &[quants(16), scales(32, 1, 0)],
    weights: "weights_mxfp4",
    repack: "repack_mxfp4",
    dequantize: |bytes, out| blocks(bytes, out, unpack),
    dot: None,
    dot_error: 6e-6,
    twin: Some(Twin {
        quant: |block, i| code(nibble(&block[1..], i)),
        levels: LEVELS,
        scales: |scales, _, _| [half_of_e8m0(scales[0]), half_of_e8m0(scales[0]), 0.0, 0.0],
    }),
};

fn unpack(block: &[u8; 17], weights: &mut [f32; 32]) {
    let d = half_of_e8m0(block[0]);
    nibbles(&block[1..], weights, |_, q| d * f32::from(CODEBOOK[usize::from(q)]));
}

/// The code that the number of this nibble is packed as.
pub(super) fn code(nibble: u8) -> u8 {
    CODES[usize::from(nibble)]
}

/// 2^(e − 128), half of what the byte e stands for in E8M0. The two smallest are subnormal.
pub(super) fn half_of_e8m0(e: u8) -> f32 {
    f32::from_bits(if e < 2 { 0x0020_0000 << e } else { u32::from(e - 1) << 23 })
}
