//! Q1_0: f16 d, 16 bytes of bits, the first weight in the lowest bit; weight = d where the bit is set, else −d.

use super::blocks::{blocks, centred, half_at, sign_at};
use super::{Format, Levels, Twin, f16_field, quants, scales};

pub(super) static FORMAT: Format = Format {
    id: 41,
    name: "Q1_0",
    key: "q1_0",
    file_types: &[(40, "Q1_0")],
    block_len: 128,
    block_bytes: 18,
    numbers: &[f16_field(0, 1.0)],
    sections: &[quants(4), scales(128, 2, 0)],
    weights: "weights_q1_0",
    repack: "repack_q1_0",
    dequantize: |bytes, out| blocks(bytes, out, unpack),
    dot: None,
    dot_error: 6e-6,
    twin: Some(Twin {
        quant: |block, w| sign_at(&block[2..], w),
        levels: Levels::Codebook(&[-1, 1]),
        scales: |scales, _, _| centred(half_at(scales, 0), 0.0),
    }),
};

fn unpack(block: &[u8; 18], weights: &mut [f32; 128]) {
    let d = half_at(block, 0);
    for (w, weight) in weights.iter_mut().enumerate() {
        *weight = if sign_at(&block[2..], w) == 1 { d } else { -d };
    }
}
