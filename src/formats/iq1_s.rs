//! IQ1_S: f16 d, 32 bytes that number entries of a grid of eight weights, eight words of 16 bits for 32 weights each: a
//! word has the upper three bits of four numbers, a 3-bit scale and, as its last bit, a sign.
//! Weight = d · (2 · scale + 1) · (value ± 1/8), where values are -1, 0 and 1: affine, with quants of two bits.

use super::blocks::{blocks, half_at};
use super::grids::IQ1;
use super::{Format, Levels, Twin, f16_field, heads, parts, table};

pub(super) static FORMAT: Format = Format {
    id: 19,
    name: "IQ1_S",
    key: "iq1_s",
    file_types: &[(24, "IQ1_S")],
    block_len: 256,
    block_bytes: 50,
    numbers: &[f16_field(0, 15.0 * 1.125)],
    sections: &[parts("", 4, 2), parts("HIGH_AT", 2, 34), heads(2, 0), table(&IQ1)],
    weights: "weights_iq1_s",
    repack: "repack_iq1_s",
    dequantize: |bytes, out| blocks(bytes, out, unpack),
    dot: None,
    dot_error: 6e-6,
    twin: Some(Twin {
        quant: |_, _| 0,
        levels: Levels::Grid(|block, i| {
            let word = u16::from_le_bytes([block.high[0], block.high[1]]);
            // The scale of the block stands with the numbers.
            steps(word) * shifted(word, block.low[i / 8], i / 8, i % 8)
        }),
        scales: |_, heads, _| [half_at(heads, 0), half_at(heads, 0), 0.0, 0.0],
    }),
};

fn unpack(block: &[u8; 50], weights: &mut [f32; 256]) {
    let d = half_at(block, 0);
    for (part, weights) in weights.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let word = u16::from_le_bytes([block[34 + 2 * part], block[35 + 2 * part]]);
        let scale = d * steps(word);
        for (i, weight) in weights.iter_mut().enumerate() {
            *weight = scale * shifted(word, block[2 + 4 * part + i / 8], i / 8, i % 8);
        }
    }
}

/// The integer that scales a block of 32.
fn steps(word: u16) -> f32 {
    f32::from(2 * (word >> 12 & 7) + 1)
}

/// Value `i` of eighth `g` of a block, moved by 1/8.
fn shifted(word: u16, low: u8, g: usize, i: usize) -> f32 {
    let entry = usize::from(low) | usize::from(word >> (3 * g) & 7) << 8;
    IQ1.value(entry, i) + if word >> 15 == 0 { 0.125 } else { -0.125 }
}
