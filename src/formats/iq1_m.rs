//! IQ1_M: 32 bytes that number entries of a grid of eight weights, 32 nibbles of the numbers' upper three bits and a
//! sign, four words of 16 bits. A word has four 3-bit scales, for 16 weights each, and in its upper nibble a quarter of
//! f16 d. Weight = d · (2 · scale + 1) · (value ± 1/8), where values are -1, 0 and 1; the sign is that of eight
//! weights. Affine, with quants of four bits: 4 · (value + 1), and 1 more for plus.

use super::blocks::blocks;
use super::grids::IQ1;
use super::{Format, Levels, NumberEncoding, NumberField, Twin, parts, scales, table};
use half::f16;

pub(super) static FORMAT: Format = Format {
    id: 29,
    name: "IQ1_M",
    key: "iq1_m",
    file_types: &[(31, "IQ1_M")],
    block_len: 256,
    block_bytes: 56,
    numbers: &[NumberField { at: 48, encoding: NumberEncoding::F16InQuarters, times: 15.0 * 1.125 }],
    sections: &[parts("", 4, 0), parts("HIGH_AT", 2, 32), scales(256, 8, 48), table(&IQ1)],
    weights: "weights_iq1_m",
    repack: "repack_iq1_m",
    dequantize: |bytes, out| blocks(bytes, out, unpack),
    dot: None,
    dot_error: 6e-6,
    twin: Some(Twin {
        quant: |_, _| 0,
        levels: Levels::Grid(|block, i| {
            let g = i / 8;
            shifted(block.low[g], block.high[g / 2] >> (4 * (g % 2)), i % 8)
        }),
        scales: |scales, _, part| {
            let [first, second] = [0, 1].map(|half| super_scale(scales) * steps(scales, 2 * part + half));
            [first, second, 0.0, 0.0]
        },
    }),
};

fn unpack(block: &[u8; 56], weights: &mut [f32; 256]) {
    let d = super_scale(&block[48..]);
    for (eighth, weights) in weights.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let scale = d * steps(&block[48..], eighth / 2);
        let nibble = block[32 + eighth / 2] >> (4 * (eighth % 2));
        for (i, weight) in weights.iter_mut().enumerate() {
            *weight = scale * shifted(block[eighth], nibble, i);
        }
    }
}

/// d, of which each of the four words has a quarter.
fn super_scale(words: &[u8]) -> f32 {
    let bits = (0..4).map(|k| u16::from(words[2 * k + 1] >> 4) << (4 * k)).sum();
    f16::from_bits(bits).to_f32()
}

/// The integer that scales 16 weights.
fn steps(words: &[u8], group: usize) -> f32 {
    let word = u16::from_le_bytes([words[group / 4 * 2], words[group / 4 * 2 + 1]]);
    f32::from(2 * (word >> (3 * (group % 4)) & 7) + 1)
}

/// Value `i` of an entry, moved by 1/8.
fn shifted(low: u8, nibble: u8, i: usize) -> f32 {
    let entry = usize::from(low) | usize::from(nibble & 7) << 8;
    IQ1.value(entry, i) + if nibble & 8 == 0 { 0.125 } else { -0.125 }
}
