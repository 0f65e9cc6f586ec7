//! IQ2_XXS: f16 d, then for 32 weights each 4 bytes that number entries of a grid of eight weights and a word of signs
//! and scale as in IQ3_XXS. Weight = d · (scale + 1/2) / 4 · ± value.

use super::blocks::{blocks, half_at, word_at};
use super::grids::{self, even_signs, packed_even_signs, signed, spare_bits, stored_bit};
use super::{BLOCK, Content, Format, Levels, Section, Twin, f16_field, heads, signs, table};

const NUMBERS: Section =
    Section { name: "", weights: BLOCK, bytes: 4, content: Content::Strided { at: 2, unit: 8, byte: 1 } };

pub(super) static FORMAT: Format = Format {
    id: 16,
    name: "IQ2_XXS",
    key: "iq2_xxs",
    file_types: &[(19, "IQ2_XXS")],
    block_len: 256,
    block_bytes: 66,
    numbers: &[f16_field(0, 3.875 * 43.0)],
    // The scales stand where the signs that follow from others would.
    sections: &[NUMBERS, signs("SCALES_AT"), heads(2, 0), table(&grids::IQ2_XXS)],
    weights: "weights_iq2_xxs",
    repack: "repack_iq2_xxs",
    dequantize: |bytes, out| blocks(bytes, out, unpack),
    dot: None,
    dot_error: 8e-6,
    twin: Some(Twin {
        quant: |block, w| stored_bit(word_at(block, 6 + 8 * (w / 32)), w % 32),
        levels: Levels::Grid(|block, i| {
            let value = grids::IQ2_XXS.value(block.low[i / 8].into(), i % 8);
            signed(value, packed_even_signs(&block.quants, i), i % 8)
        }),
        scales: |signs, heads, _| {
            let scale = (f32::from(spare_bits(signs)) + 0.5) * 0.25 * half_at(heads, 0);
            [scale, scale, 0.0, 0.0]
        },
    }),
};

fn unpack(block: &[u8; 66], weights: &mut [f32; 256]) {
    let d = half_at(block, 0);
    for (part, weights) in weights.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let word = word_at(block, 6 + 8 * part);
        let scale = d * (0.5 + (word >> 28) as f32) * 0.25;
        for (i, weight) in weights.iter_mut().enumerate() {
            let entry = block[2 + 8 * part + i / 8];
            let value = scale * grids::IQ2_XXS.value(entry.into(), i % 8);
            *weight = signed(value, even_signs(word >> (7 * (i / 8))), i % 8);
        }
    }
}
