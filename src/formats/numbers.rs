//! F32, F16 and BF16: plain numbers. A block is one number; rows of any length, packed in blocks of 32 with zeros at
//! the end.

use super::{Format, NumberEncoding, NumberField, quants};
use crate::simd::{widen_bf16, widen_f16};

pub(super) static F32: Format = Format {
    id: 0,
    name: "F32",
    key: "f32",
    file_types: &[(0, "F32")],
    block_len: 1,
    block_bytes: 4,
    numbers: &[NumberField { at: 0, encoding: NumberEncoding::F32, times: 1.0 }],
    sections: &[quants(128)],
    weights: "weights_f32",
    repack: "repack_f32",
    dequantize: |bytes, out| bytemuck::cast_slice_mut(out).copy_from_slice(bytes),
    dot: None,
    dot_error: 4e-6,
    twin: None,
};

pub(super) static F16: Format = Format {
    id: 1,
    name: "F16",
    key: "f16",
    file_types: &[(1, "F16")],
    block_len: 1,
    block_bytes: 2,
    numbers: &[NumberField { at: 0, encoding: NumberEncoding::F16, times: 1.0 }],
    sections: &[quants(64)],
    weights: "weights_f16",
    repack: "repack_half",
    dequantize: widen_f16,
    dot: None,
    dot_error: 4e-6,
    twin: None,
};

pub(super) static BF16: Format = Format {
    id: 30,
    name: "BF16",
    key: "bf16",
    file_types: &[(32, "BF16")],
    block_len: 1,
    block_bytes: 2,
    numbers: &[NumberField { at: 0, encoding: NumberEncoding::BF16, times: 1.0 }],
    sections: &[quants(64)],
    weights: "weights_bf16",
    repack: "repack_half",
    dequantize: widen_bf16,
    dot: None,
    dot_error: 4e-6,
    twin: None,
};
