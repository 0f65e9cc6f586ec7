//! IQ2_S: f16 d, 32 bytes that number entries of a grid of eight weights, 32 bytes of signs, 8 bytes of the numbers'
//! upper two bits, sixteen 4-bit scales. Weight = d · (scale + 1/2) / 4 · ± value.

use super::blocks::{blocks, half_at, sign_at};
use super::grids::{self, signed, two_scales};
use super::{Format, Levels, Twin, f16_field, heads, parts, signs, table};

pub(super) static FORMAT: Format = Format {
    id: 22,
    name: "IQ2_S",
    key: "iq2_s",
    file_types: &[(29, "IQ2_M")],
    block_len: 256,
    block_bytes: 82,
    numbers: &[f16_field(0, 3.875 * 43.0)],
    sections: &[
        parts("", 4, 2),
        parts("HIGH_AT", 1, 66),
        signs("SIGNS_AT"),
        parts("SCALES_AT", 1, 74),
        heads(2, 0),
        table(&grids::IQ2_S),
    ],
    weights: "weights_iq2_s",
    repack: "repack_iq2_s",
    dequantize: |bytes, out| blocks(bytes, out, unpack),
    dot: None,
    dot_error: 8e-6,
    twin: Some(Twin {
        quant: |block, w| sign_at(&block[34..], w),
        levels: Levels::Grid(|block, i| {
            let entry = usize::from(block.low[i / 8]) | usize::from(block.high[0] >> (2 * (i / 8)) & 3) << 8;
            signed(grids::IQ2_S.value(entry, i % 8), block.quants[i], 0)
        }),
        scales: |scales, heads, _| two_scales(scales[0], half_at(heads, 0)),
    }),
};

fn unpack(block: &[u8; 82], weights: &mut [f32; 256]) {
    let d = half_at(block, 0);
    for (eighth, weights) in weights.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let scale = block[74 + eighth / 4] >> (4 * (eighth / 2 % 2)) & 15;
        let scale = d * (0.5 + f32::from(scale)) * 0.25;
        let high = usize::from(block[66 + eighth / 4] >> (2 * (eighth % 4)) & 3) << 8;
        let entry = usize::from(block[2 + eighth]) | high;
        for (i, weight) in weights.iter_mut().enumerate() {
            *weight = signed(scale * grids::IQ2_S.value(entry, i), block[34 + eighth], i);
        }
    }
}
