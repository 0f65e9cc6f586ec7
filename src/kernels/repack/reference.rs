//! The packed form of a tensor on the CPU: the twin of `shaders/model/repack.wgsl`.
//!
//! [`repack`] takes GGUF blocks apart weight by weight where the shader moves whole words, so that they can share a
//! mistake only if `kernels/layout.rs` itself is wrong.

use crate::formats::{BLOCK, Content, Format};
use crate::kernels::layout::PackedLayout;

/// Packs whole raw rows into rows `dst_row` … of `dst`, which holds [`PackedLayout::bytes`] and is zero there.
///
/// # Panics
/// If `raw` is not whole rows, or more than `dst` has left.
pub fn repack(layout: &PackedLayout, dst_row: u32, raw: &[u8], dst: &mut [u8]) {
    let row_bytes = layout.raw_row_bytes() as usize;
    assert!(raw.len().is_multiple_of(row_bytes), "{} bytes are not rows of {row_bytes}", raw.len());
    assert_eq!(dst.len() as u64, layout.bytes(), "bytes of the target");
    let (format, blocks) = (layout.ty.format(), layout.blocks_per_row() as usize);
    put_grid(layout, dst);
    for (row, raw) in raw.chunks_exact(row_bytes).enumerate() {
        let first = (dst_row as usize + row) * blocks;
        if format.is_quantised() {
            for (i, block) in raw.chunks_exact(format.block_bytes).enumerate() {
                put_block(layout, first + i * format.block_len / BLOCK as usize, block, dst);
            }
        } else {
            // Plain numbers stay as they are.
            let start = first * format.sections[0].bytes as usize;
            dst[start..][..raw.len()].copy_from_slice(raw);
        }
    }
}

/// All rows of a tensor at once.
pub fn packed(layout: &PackedLayout, raw: &[u8]) -> Vec<u8> {
    let mut dst = vec![0; layout.bytes() as usize];
    repack(layout, 0, raw, &mut dst);
    dst
}

/// Writes the type's grid, if it has one, behind the blocks.
fn put_grid(layout: &PackedLayout, dst: &mut [u8]) {
    for (section, word) in layout.sections() {
        if let Content::Grid(grid) = section.content {
            dst[word as usize * 4..][..section.bytes as usize].copy_from_slice(bytemuck::cast_slice(&grid.packed()));
        }
    }
}

/// Writes a block of the file as the packed blocks of 32 weights from `b` on.
fn put_block(layout: &PackedLayout, b: usize, raw: &[u8], dst: &mut [u8]) {
    for (section, word) in layout.sections() {
        let (start, bytes) = (word as usize * 4, section.bytes as usize);
        match section.content {
            Content::Bytes(at) => {
                let unit = b * BLOCK as usize / section.weights as usize;
                dst[start + unit * bytes..][..bytes].copy_from_slice(&raw[at..at + bytes]);
            }
            Content::Strided { at, unit, byte } => {
                let (first, units) = (b * BLOCK as usize, layout.ty.block_len() / section.weights as usize);
                let dst = &mut dst[start + first / section.weights as usize * bytes..];
                for (i, to) in dst[..units * bytes].iter_mut().enumerate() {
                    *to = raw[at + unit * (i / bytes) + byte * (i % bytes)];
                }
            }
            // Once for the matrix, by `put_grid`.
            Content::Grid(_) => {}
            Content::Quants(shift) => put_quants(layout.ty.format(), raw, shift, &mut dst[start + b * bytes..], bytes),
            Content::Signs => put_signs(layout.ty.format(), raw, &mut dst[start + b * bytes..]),
        }
    }
}

/// Puts the bits from `shift` on of a block's quants into `dst`, `bytes` for each 32 of them.
fn put_quants(format: &Format, raw: &[u8], shift: u32, dst: &mut [u8], bytes: usize) {
    let Some(twin) = &format.twin else { return };
    let bits = bytes * 8 / BLOCK as usize;
    for w in 0..format.block_len {
        let (byte, place) = place(bits, w % BLOCK as usize);
        let quant = u16::from((twin.quant)(raw, w) >> shift) & ((1 << bits) - 1);
        dst[w / BLOCK as usize * bytes + byte] |= (quant as u8) << place;
    }
}

/// Puts the single bits of a block, those of 32 weights in four bytes.
fn put_signs(format: &Format, raw: &[u8], dst: &mut [u8]) {
    let Some(twin) = &format.twin else { return };
    for w in 0..format.block_len {
        let (part, i) = (w / BLOCK as usize, w % BLOCK as usize);
        dst[4 * part + i % 4] |= (twin.quant)(raw, w) << (i % 8 / 4 * 4 + i / 8);
    }
}

/// The byte and the first bit of weight `i` of 32 in a section of `bits` bits for each.
fn place(bits: usize, i: usize) -> (usize, usize) {
    match bits {
        8 => (i, 0),
        4 => (i % 16, 4 * (i / 16)),
        2 => (i / 16 * 4 + i % 4, 2 * (i / 4 % 4)),
        1 => (i % 4, i / 4),
        _ => unreachable!("no section has {bits} bits for a quant"),
    }
}
