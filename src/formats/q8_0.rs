//! Q8_0: f16 d, 32 signed bytes; weight = d · q.

use super::blocks::{blocks, centred, half_at};
use super::integers::{Block, Sum, bytes_at};
use super::{Format, Levels, Twin, f16_field, quants, scales};
use crate::simd::{Bytes, I32x4};

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
    dot: Some(dot),
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

fn dot(bytes: &[u8], x: &[Block]) -> f32 {
    let mut sum = Sum::zero();
    for (block, x) in bytes.as_chunks::<34>().0.iter().zip(x) {
        let first = Bytes::new(bytes_at(block, 2)).signed_products(&x.values[0], I32x4::zero());
        let both = Bytes::new(bytes_at(block, 18)).signed_products(&x.values[1], first);
        sum.add(both, half_at(block, 0) * x.scale);
    }
    sum.total()
}
