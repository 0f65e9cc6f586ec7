//! IQ4_XS: f16 d, eight 6-bit scales in 6 bytes, 128 bytes of nibbles.
//! Groups of 32: weight = (d · (scale − 32)) · CODEBOOK\[q\], with IQ4_NL's table.
//!
//! Upper two bits of scale s: bits 2s and 2s + 1 of the u16 at byte 2; its low four: a nibble of byte 4 + s / 2, the
//! low one where s is even.

use super::blocks::{blocks, half_at, nibble, nibbles};
use super::iq4_nl::CODEBOOK;
use super::{Format, Levels, Twin, f16_field, quants, scales};

pub(super) static FORMAT: Format = Format {
    id: 23,
    name: "IQ4_XS",
    key: "iq4_xs",
    file_types: &[(30, "IQ4_XS")],
    block_len: 256,
    block_bytes: 136,
    numbers: &[f16_field(0, 32.0 * 127.0)],
    // The file keeps scale and 6-bit scales together in 8 bytes, and so do we.
    sections: &[quants(16), scales(256, 8, 0)],
    weights: "weights_iq4_xs",
    repack: "repack_iq4_xs",
    dequantize: |bytes, out| blocks(bytes, out, unpack),
    dot: None,
    dot_error: 6e-6,
    twin: Some(Twin {
        quant: |block, w| nibble(&block[8 + w / 32 * 16..][..16], w % 32),
        levels: Levels::Codebook(&CODEBOOK),
        scales: |scales, _, part| [group_scale(scales, part), group_scale(scales, part), 0.0, 0.0],
    }),
};

fn unpack(block: &[u8; 136], weights: &mut [f32; 256]) {
    for (group, weights) in weights.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let dl = group_scale(block, group);
        nibbles(&block[8 + group * 16..][..16], weights, |_, q| dl * f32::from(CODEBOOK[usize::from(q)]));
    }
}

/// The scale of a group of 32.
fn group_scale(block: &[u8], group: usize) -> f32 {
    let low = block[4 + group / 2] >> (group % 2 * 4) & 15;
    let high = block[2 + group / 4] >> (group % 4 * 2) & 3;
    half_at(block, 0) * (f32::from(low | high << 4) - 32.0)
}
