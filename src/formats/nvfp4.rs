//! NVFP4: four UE4M3 scales, then 8 bytes of nibbles for each 16 weights, the first eight of them in the low nibbles;
//! weight = scale / 2 · CODEBOOK\[q\], with MXFP4's table.
//!
//! UE4M3 is a byte of four bits of exponent (bias 7) and three of mantissa, subnormal where the exponent is 0. The
//! highest bit is not read, and 127 stands for 0.

use super::blocks::blocks;
use super::mxfp4::{CODEBOOK, LEVELS, code};
use super::{Format, NumberEncoding, NumberField, Twin, quants, scales};

pub(super) static FORMAT: Format = Format {
    id: 40,
    name: "NVFP4",
    key: "nvfp4",
    file_types: &[(39, "NVFP4")],
    block_len: 64,
    block_bytes: 36,
    numbers: &[scale(0), scale(1), scale(2), scale(3)],
    sections: &[quants(16), scales(64, 4, 0)],
    weights: "weights_nvfp4",
    repack: "repack_nvfp4",
    dequantize: |bytes, out| blocks(bytes, out, unpack),
    dot: None,
    dot_error: 6e-6,
    twin: Some(Twin {
        quant: |block, w| code(quant(block, w)),
        levels: LEVELS,
        scales: |scales, _, part| {
            let pair = &scales[part % 2 * 2..];
            [half_of_ue4m3(pair[0]), half_of_ue4m3(pair[1]), 0.0, 0.0]
        },
    }),
};

const fn scale(at: usize) -> NumberField {
    NumberField { at, encoding: NumberEncoding::UE4M3, times: 12.0 }
}

fn unpack(block: &[u8; 36], weights: &mut [f32; 64]) {
    for (w, weight) in weights.iter_mut().enumerate() {
        *weight = half_of_ue4m3(block[w / 16]) * f32::from(CODEBOOK[usize::from(quant(block, w))]);
    }
}

/// Quant `w` of 64.
fn quant(block: &[u8], w: usize) -> u8 {
    block[4 + w / 16 * 8 + w % 8] >> (w / 8 % 2 * 4) & 15
}

/// Half of what a byte stands for in UE4M3.
pub(super) fn half_of_ue4m3(byte: u8) -> f32 {
    let (exponent, mantissa) = (u32::from(byte >> 3 & 15), byte & 7);
    match exponent {
        _ if byte == 127 => 0.0,
        0 => f32::from(mantissa) / 1024.0,
        _ => (f32::from(mantissa) / 8.0 + 1.0) * f32::from_bits((exponent + 119) << 23),
    }
}
