//! IQ3_XXS: f16 d, 64 bytes that number entries of a grid of four weights, eight words of signs and scales.
//! Weight = d · (scale + 1/2) / 2 · ± value. A word holds four times seven signs, the eighth of each being such that
//! the number of minus signs is even, and a 4-bit scale, for 32 weights.

use super::blocks::{blocks, half_at, word_at};
use super::grids::{self, even_signs, packed_even_signs, signed, spare_bits};
use super::{Format, Levels, Twin, f16_field, heads, parts, signs, table};

pub(super) static FORMAT: Format = Format {
    id: 18,
    name: "IQ3_XXS",
    key: "iq3_xxs",
    file_types: &[(23, "IQ3_XXS")],
    block_len: 256,
    block_bytes: 98,
    numbers: &[f16_field(0, 7.75 * 62.0)],
    // The scales stand where the signs that follow from others would.
    sections: &[parts("", 8, 2), signs("SCALES_AT"), heads(2, 0), table(&grids::IQ3_XXS)],
    weights: "weights_iq3_xxs",
    repack: "repack_iq3_xxs",
    dequantize: |bytes, out| blocks(bytes, out, unpack),
    dot: None,
    dot_error: 8e-6,
    twin: Some(Twin {
        quant: sign_or_scale,
        levels: Levels::Grid(|block, i| {
            let value = grids::IQ3_XXS.value(block.low[i / 4].into(), i % 4);
            signed(value, packed_even_signs(&block.quants, i), i % 8)
        }),
        scales: |signs, heads, _| {
            let scale = (f32::from(spare_bits(signs)) + 0.5) * 0.5 * half_at(heads, 0);
            [scale, scale, 0.0, 0.0]
        },
    }),
};

fn unpack(block: &[u8; 98], weights: &mut [f32; 256]) {
    let d = half_at(block, 0);
    for (part, weights) in weights.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let word = word_at(block, 66 + 4 * part);
        let scale = d * (0.5 + (word >> 28) as f32) * 0.5;
        for (i, weight) in weights.iter_mut().enumerate() {
            let entry = block[2 + 8 * part + i / 4];
            let value = scale * grids::IQ3_XXS.value(entry.into(), i % 4);
            *weight = signed(value, even_signs(word >> (7 * (i / 8))), i % 8);
        }
    }
}

/// The sign of weight `w` of 256; for each eighth a bit of the scale.
fn sign_or_scale(block: &[u8], w: usize) -> u8 {
    grids::stored_bit(word_at(block, 66 + 4 * (w / 32)), w % 32)
}
