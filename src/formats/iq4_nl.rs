//! IQ4_NL: f16 d, 16 bytes of nibbles; weight = d · CODEBOOK\[q\]. What llama.cpp makes of rows that are no whole
//! super-blocks in files of Q2_K and Q3_K, among others.

use super::blocks::{blocks, half_at, nibble, nibbles};
use super::{Format, Levels, Twin, f16_field, quants, scales};

/// Denser around 0, where most weights are.
pub(super) static CODEBOOK: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

pub(super) static FORMAT: Format = Format {
    id: 20,
    name: "IQ4_NL",
    key: "iq4_nl",
    file_types: &[(25, "IQ4_NL")],
    block_len: 32,
    block_bytes: 18,
    numbers: &[f16_field(0, 127.0)],
    sections: &[quants(16), scales(32, 2, 0)],
    weights: "weights_iq4_nl",
    repack: "repack_q4_0",
    dequantize: |bytes, out| blocks(bytes, out, unpack),
    dot: None,
    dot_error: 6e-6,
    twin: Some(Twin {
        quant: |block, i| nibble(&block[2..], i),
        levels: Levels::Codebook(&CODEBOOK),
        scales: |scales, _, _| [half_at(scales, 0), half_at(scales, 0), 0.0, 0.0],
    }),
};

fn unpack(block: &[u8; 18], weights: &mut [f32; 32]) {
    let d = half_at(block, 0);
    nibbles(&block[2..], weights, |_, q| d * f32::from(CODEBOOK[usize::from(q)]));
}
