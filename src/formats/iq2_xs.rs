//! IQ2_XS: f16 d, 32 words of 16 bits for eight weights each, sixteen 4-bit scales. The low nine bits of a word number
//! the entry of a grid of eight weights, the others are seven signs, the eighth being such that the number of minus
//! signs is even. Weight = d · (scale + 1/2) / 4 · ± value.

use super::blocks::{blocks, half_at};
use super::grids::{self, even_signs, packed_even_signs, signed, two_scales};
use super::{BLOCK, Content, Format, Levels, Section, Twin, f16_field, heads, parts, signs, table};

/// The low bytes of the words.
const NUMBERS: Section =
    Section { name: "", weights: BLOCK, bytes: 4, content: Content::Strided { at: 2, unit: 8, byte: 2 } };

pub(super) static FORMAT: Format = Format {
    id: 17,
    name: "IQ2_XS",
    key: "iq2_xs",
    file_types: &[(20, "IQ2_XS"), (28, "IQ2_S")],
    block_len: 256,
    block_bytes: 74,
    numbers: &[f16_field(0, 3.875 * 43.0)],
    // The numbers' ninth bits stand where the signs that follow from others would.
    sections: &[NUMBERS, signs("SIGNS_AT"), parts("SCALES_AT", 1, 66), heads(2, 0), table(&grids::IQ2_XS)],
    weights: "weights_iq2_xs",
    repack: "repack_iq2_xs",
    dequantize: |bytes, out| blocks(bytes, out, unpack),
    dot: None,
    dot_error: 8e-6,
    twin: Some(Twin {
        quant: |block, w| {
            let (word, i) = (number_and_signs(block, w / 8), w % 8);
            (word >> (if i == 7 { 8 } else { 9 + i }) & 1) as u8
        },
        levels: Levels::Grid(|block, i| {
            let entry = usize::from(block.low[i / 8]) | usize::from(block.quants[i | 7]) << 8;
            signed(grids::IQ2_XS.value(entry, i % 8), packed_even_signs(&block.quants, i), i % 8)
        }),
        scales: |scales, heads, _| two_scales(scales[0], half_at(heads, 0)),
    }),
};

/// Word `i` of the 32.
fn number_and_signs(block: &[u8], i: usize) -> u32 {
    u16::from_le_bytes([block[2 + 2 * i], block[3 + 2 * i]]).into()
}

fn unpack(block: &[u8; 74], weights: &mut [f32; 256]) {
    let d = half_at(block, 0);
    for (eighth, weights) in weights.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let scale = block[66 + eighth / 4] >> (4 * (eighth / 2 % 2)) & 15;
        let scale = d * (0.5 + f32::from(scale)) * 0.25;
        let word = number_and_signs(block, eighth);
        for (i, weight) in weights.iter_mut().enumerate() {
            let value = scale * grids::IQ2_XS.value(word as usize & 511, i);
            *weight = signed(value, even_signs(word >> 9), i);
        }
    }
}
