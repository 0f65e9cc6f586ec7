//! Q5_0: f16 d, u32 of fifth bits, 16 bytes of nibbles; weight = d · (q − 16).

use super::blocks::{blocks, centred, fifth_bit, fifth_bits, half_at, nibble, nibbles};
use super::{Format, Levels, Twin, f16_field, high, quants, scales};

pub(super) static FORMAT: Format = Format {
    id: 6,
    name: "Q5_0",
    key: "q5_0",
    file_types: &[(8, "Q5_0")],
    block_len: 32,
    block_bytes: 22,
    numbers: &[f16_field(0, 16.0)],
    sections: &[quants(16), high(4, 4), scales(32, 2, 0)],
    weights: "weights_q5_0",
    repack: "repack_q5_0",
    dequantize: |bytes, out| blocks(bytes, out, unpack),
    dot: None,
    dot_error: 8e-6,
    twin: Some(Twin {
        quant: |block, i| nibble(&block[6..], i) | fifth_bit(&block[2..], i),
        levels: Levels::Unsigned,
        scales: |scales, _, _| centred(half_at(scales, 0), 16.0),
    }),
};

fn unpack(block: &[u8; 22], weights: &mut [f32; 32]) {
    let d = half_at(block, 0);
    let fifth = fifth_bits(block, 2);
    nibbles(&block[6..], weights, |i, q| d * (f32::from(q | fifth(i)) - 16.0));
}
