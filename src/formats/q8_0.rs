//! Q8_0: f16 d, 32 signed bytes; weight = d · q.

use super::blocks::{blocks, centred, half_at};
use super::{Format, Levels, Twin, f16_field, quants, scales};

pub(super) static FORMAT: Format = Format {
    id: 8,
    name: "Q8_0",
    key: "q8_0",
    file_types: &[(7, "Q8_0")],
    block_len: 32,
    block_bytes: 34,
    numbers: &[f16_field(0, 128.0)],
    sections: &[quants(32), scales(32, 2, 0)],
    weights: "weights_q8_0",
    repack: "repack_q8_0",
    dequantize: |bytes, out| blocks(bytes, out, unpack),
    dot_error: 4e-6,
    twin: Some(Twin {
        quant: |block, i| block[2 + i],
        levels: Levels::Signed,
        scales: |scales, _, _| centred(half_at(scales, 0), 0.0),
    }),
};

fn unpack(block: &[u8; 34], weights: &mut [f32; 32]) {
    let d = half_at(block, 0);
    for (weight, &q) in weights.iter_mut().zip(&block[2..]) {
        *weight = d * f32::from(q as i8);
    }
}
