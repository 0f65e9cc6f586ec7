//! TQ2_0: 64 bytes of 2-bit q, f16 d; weight = d · (q − 1). Ternary models use q up to 2.
//!
//! Each 32 bytes of q serve 128 weights: bits 0–1 the first 32 of them, bits 2–3 the next, and so on.

use super::blocks::{blocks, centred, half_at, shared_pair};
use super::{Format, Levels, Twin, f16_field, heads, quants};

pub(super) static FORMAT: Format = Format {
    id: 35,
    name: "TQ2_0",
    key: "tq2_0",
    file_types: &[(37, "TQ2_0")],
    block_len: 256,
    block_bytes: 66,
    numbers: &[f16_field(64, 2.0)],
    sections: &[quants(8), heads(2, 64)],
    weights: "weights_tq2_0",
    repack: "repack_tq2_0",
    dequantize: |bytes, out| blocks(bytes, out, unpack),
    dot: None,
    dot_error: 6e-6,
    twin: Some(Twin {
        quant: shared_pair,
        levels: Levels::Unsigned,
        scales: |_, heads, _| centred(half_at(heads, 0), 1.0),
    }),
};

fn unpack(block: &[u8; 66], weights: &mut [f32; 256]) {
    let d = half_at(block, 64);
    for (w, weight) in weights.iter_mut().enumerate() {
        *weight = d * (f32::from(shared_pair(block, w)) - 1.0);
    }
}
