//! What the blocks mean: bytes of a tensor → f32. The oracle of every shader that unpacks weights.
//!
//! Results are those of the `gguf` Python package to the last bit: each formula is evaluated in f32 in the order
//! written.

use half::{bf16, f16};

use super::block::{GgmlType, row_bytes};
use super::dequantize_k;
use crate::error::{Error, Result};

/// Unpacks whole blocks of `ty` into `out`, one f32 per weight.
///
/// # Errors
/// `bad_file` where `out.len()` is no multiple of the block length, `invalid_argument` where `bytes` is not exactly the
/// bytes of `out.len()` weights.
pub fn dequantize(ty: GgmlType, bytes: &[u8], out: &mut [f32]) -> Result<()> {
    let expected = row_bytes(ty, out.len() as u64)?;
    if bytes.len() as u64 != expected {
        return Err(Error::invalid_argument(format!(
            "{} weights of {} take {expected} bytes, found {}",
            out.len(),
            ty.name(),
            bytes.len()
        )));
    }
    match ty {
        GgmlType::F32 => numbers(bytes, out, f32::from_le_bytes),
        GgmlType::F16 => numbers(bytes, out, |b| f16::from_le_bytes(b).to_f32()),
        GgmlType::BF16 => numbers(bytes, out, |b| bf16::from_le_bytes(b).to_f32()),
        GgmlType::Q4_0 => blocks(bytes, out, q4_0),
        GgmlType::Q4_1 => blocks(bytes, out, q4_1),
        GgmlType::Q5_0 => blocks(bytes, out, q5_0),
        GgmlType::Q5_1 => blocks(bytes, out, q5_1),
        GgmlType::Q8_0 => blocks(bytes, out, q8_0),
        GgmlType::Q2_K => blocks(bytes, out, dequantize_k::q2_k),
        GgmlType::Q3_K => blocks(bytes, out, dequantize_k::q3_k),
        GgmlType::Q4_K => blocks(bytes, out, dequantize_k::q4_k),
        GgmlType::Q5_K => blocks(bytes, out, dequantize_k::q5_k),
        GgmlType::Q6_K => blocks(bytes, out, dequantize_k::q6_k),
    }
    Ok(())
}

/// The f16 nearest to `value`, ties to even, as its bits.
pub fn f16_from_f32(value: f32) -> u16 {
    f16::from_f32(value).to_bits()
}

/// The value of an f16 given by its bits; exact.
pub fn f16_to_f32(bits: u16) -> f32 {
    f16::from_bits(bits).to_f32()
}

fn numbers<const N: usize>(bytes: &[u8], out: &mut [f32], read: impl Fn([u8; N]) -> f32) {
    for (weight, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
        *weight = read(*bytes);
    }
}

/// Applies `unpack` to every block of `B` bytes and `W` weights.
fn blocks<const B: usize, const W: usize>(bytes: &[u8], out: &mut [f32], unpack: fn(&[u8; B], &mut [f32; W])) {
    for (block, weights) in bytes.as_chunks().0.iter().zip(out.as_chunks_mut().0) {
        unpack(block, weights);
    }
}

/// The f16 at byte `at` of a block.
pub(super) fn scale(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

// In the 4-bit and 5-bit types of 32 weights, byte i holds the low bits of weight i (low nibble) and of weight i + 16
// (high nibble); the fifth bit of weight i is bit i of a little-endian u32.

fn nibbles(packed: &[u8], weights: &mut [f32; 32], weight: impl Fn(usize, u8) -> f32) {
    for (i, &byte) in packed.iter().enumerate() {
        weights[i] = weight(i, byte & 15);
        weights[i + 16] = weight(i + 16, byte >> 4);
    }
}

fn fifth_bits(block: &[u8], at: usize) -> impl Fn(usize) -> u8 {
    let bits = u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]]);
    move |i| ((bits >> i & 1) as u8) << 4
}

/// f16 d, 16 bytes of nibbles: d · (q − 8).
fn q4_0(block: &[u8; 18], weights: &mut [f32; 32]) {
    let d = scale(block, 0);
    nibbles(&block[2..], weights, |_, q| d * (f32::from(q) - 8.0));
}

/// f16 d, f16 m, 16 bytes of nibbles: d · q + m.
fn q4_1(block: &[u8; 20], weights: &mut [f32; 32]) {
    let (d, m) = (scale(block, 0), scale(block, 2));
    nibbles(&block[4..], weights, |_, q| d * f32::from(q) + m);
}

/// f16 d, u32 of fifth bits, 16 bytes of nibbles: d · (q − 16).
fn q5_0(block: &[u8; 22], weights: &mut [f32; 32]) {
    let d = scale(block, 0);
    let fifth = fifth_bits(block, 2);
    nibbles(&block[6..], weights, |i, q| d * (f32::from(q | fifth(i)) - 16.0));
}

/// f16 d, f16 m, u32 of fifth bits, 16 bytes of nibbles: d · q + m.
fn q5_1(block: &[u8; 24], weights: &mut [f32; 32]) {
    let (d, m) = (scale(block, 0), scale(block, 2));
    let fifth = fifth_bits(block, 4);
    nibbles(&block[8..], weights, |i, q| d * f32::from(q | fifth(i)) + m);
}

/// f16 d, 32 signed bytes: d · q.
fn q8_0(block: &[u8; 34], weights: &mut [f32; 32]) {
    let d = scale(block, 0);
    for (weight, &q) in weights.iter_mut().zip(&block[2..]) {
        *weight = d * f32::from(q as i8);
    }
}
