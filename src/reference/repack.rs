//! The packed form of a tensor on the CPU: the twin of `shaders/repack.wgsl`.
//!
//! [`repack`] takes GGUF blocks apart bit by bit where the shader moves whole words, so that the two can be wrong
//! together only in what `kernels/layout.rs` says.

use crate::gguf::GgmlType;
use crate::kernels::layout::PackedLayout;

/// Packs whole raw rows into rows `dst_row` … of `dst`, which holds [`PackedLayout::bytes`] and is zero there.
///
/// # Panics
/// If `raw` is not whole rows, or more than `dst` has left.
pub fn repack(layout: &PackedLayout, dst_row: u32, raw: &[u8], dst: &mut [u8]) {
    let row_bytes = layout.raw_row_bytes() as usize;
    assert!(raw.len().is_multiple_of(row_bytes), "{} bytes are not rows of {row_bytes}", raw.len());
    assert_eq!(dst.len() as u64, layout.bytes(), "bytes of the target");
    let blocks = layout.blocks_per_row() as usize;
    let mut packer = Packer::new(layout, dst);
    for (row, raw) in raw.chunks_exact(row_bytes).enumerate() {
        let first = (dst_row as usize + row) * blocks;
        match layout.ty {
            GgmlType::F32 | GgmlType::F16 | GgmlType::BF16 => packer.floats(first, raw),
            ty => raw.chunks_exact(ty.block_bytes()).enumerate().for_each(|(i, block)| {
                packer.block(ty, first + i * ty.block_len() / 32, block);
            }),
        }
    }
}

/// All rows of a tensor at once.
pub fn packed(layout: &PackedLayout, raw: &[u8]) -> Vec<u8> {
    let mut dst = vec![0; layout.bytes() as usize];
    repack(layout, 0, raw, &mut dst);
    dst
}

/// The target with the first byte of each of its sections.
struct Packer<'a> {
    dst: &'a mut [u8],
    quant_bytes: usize,
    high: usize,
    scales: usize,
    heads: usize,
}

impl<'a> Packer<'a> {
    fn new(layout: &PackedLayout, dst: &'a mut [u8]) -> Self {
        let byte = |name| layout.at(name).map_or(usize::MAX, |word| word as usize * 4);
        let quant_bytes = layout.sections()[0].0.bytes as usize;
        Self { dst, quant_bytes, high: byte("HIGH_AT"), scales: byte("SCALES_AT"), heads: byte("HEADS_AT") }
    }

    fn floats(&mut self, first: usize, raw: &[u8]) {
        self.put(0, first * self.quant_bytes, raw);
    }

    fn put(&mut self, section: usize, at: usize, bytes: &[u8]) {
        self.dst[section + at..][..bytes.len()].copy_from_slice(bytes);
    }

    /// Nibble `q` of weight `i`.
    fn nibble(&mut self, block: usize, i: usize, q: u8) {
        self.dst[block * 16 + i % 16] |= q << (4 * (i / 16));
    }

    /// Bit pair `q` of weight `i`: word i/16, bits 8j + 2k for weight 16g + 4k + j.
    fn pair(&mut self, section: usize, block: usize, i: usize, q: u8) {
        self.dst[section + block * 8 + i / 16 * 4 + i % 4] |= q << (2 * (i / 4 % 4));
    }

    /// Bit `q` of weight `i`: bit 8j + k for weight 4k + j.
    fn bit(&mut self, block: usize, i: usize, q: u8) {
        self.dst[self.high + block * 4 + i % 4] |= q << (i / 4);
    }

    fn block(&mut self, ty: GgmlType, b: usize, raw: &[u8]) {
        match ty {
            GgmlType::Q8_0 => {
                self.put(self.scales, b * 2, &raw[..2]);
                self.put(0, b * 32, &raw[2..]);
            }
            GgmlType::Q4_0 => self.legacy(b, raw, 2, false),
            GgmlType::Q4_1 => self.legacy(b, raw, 4, false),
            GgmlType::Q5_0 => self.legacy(b, raw, 2, true),
            GgmlType::Q5_1 => self.legacy(b, raw, 4, true),
            GgmlType::Q2_K => self.q2_k(b, raw),
            GgmlType::Q3_K => self.q3_k(b, raw),
            GgmlType::Q4_K => self.q4_k(b, raw),
            GgmlType::Q5_K => self.q5_k(b, raw),
            GgmlType::Q6_K => self.q6_k(b, raw),
            GgmlType::F32 | GgmlType::F16 | GgmlType::BF16 => unreachable!("floats go by rows"),
        }
    }

    /// Blocks of 32 weights: `head` bytes of scale and offset, then 32 fifth bits, then nibbles.
    fn legacy(&mut self, b: usize, raw: &[u8], head: usize, fifth: bool) {
        self.put(self.scales, b * head, &raw[..head]);
        let nibbles = &raw[raw.len() - 16..];
        for i in 0..32 {
            self.nibble(b, i, nibbles[i % 16] >> (4 * (i / 16)) & 15);
            if fifth {
                self.bit(b, i, raw[head + i / 8] >> (i % 8) & 1);
            }
        }
    }

    fn q2_k(&mut self, b: usize, raw: &[u8]) {
        self.put(self.scales, b * 2, &raw[..16]);
        self.put(self.heads, b / 2, &raw[80..]);
        for w in 0..256 {
            self.pair(0, b + w / 32, w % 32, shared_pair(&raw[16..80], w));
        }
    }

    fn q3_k(&mut self, b: usize, raw: &[u8]) {
        self.put(self.scales, b / 8 * 12, &raw[96..108]);
        self.put(self.heads, b / 4, &raw[108..]);
        for w in 0..256 {
            self.bit(b + w / 32, w % 32, shared_bit(&raw[..32], w));
            self.pair(0, b + w / 32, w % 32, shared_pair(&raw[32..96], w));
        }
    }

    fn q4_k(&mut self, b: usize, raw: &[u8]) {
        self.put(self.scales, b * 2, &raw[..16]);
        for w in 0..256 {
            self.nibble(b + w / 32, w % 32, raw[16 + w / 64 * 32 + w % 32] >> (w / 32 % 2 * 4) & 15);
        }
    }

    fn q5_k(&mut self, b: usize, raw: &[u8]) {
        self.put(self.scales, b * 2, &raw[..16]);
        for w in 0..256 {
            self.bit(b + w / 32, w % 32, shared_bit(&raw[16..48], w));
            self.nibble(b + w / 32, w % 32, raw[48 + w / 64 * 32 + w % 32] >> (w / 32 % 2 * 4) & 15);
        }
    }

    fn q6_k(&mut self, b: usize, raw: &[u8]) {
        self.put(self.scales, b * 2, &raw[192..208]);
        self.put(self.heads, b / 4, &raw[208..]);
        for w in 0..256 {
            let low = raw[w / 128 * 64 + w % 64] >> (w % 128 / 64 * 4) & 15;
            self.nibble(b + w / 32, w % 32, low);
            self.pair(self.high, b + w / 32, w % 32, shared_pair(&raw[128..192], w));
        }
    }
}

/// The bit pair of weight `w` of 256, where 32 bytes hold 128 weights, 32 at each shift.
fn shared_pair(bytes: &[u8], w: usize) -> u8 {
    bytes[w / 128 * 32 + w % 32] >> (w % 128 / 32 * 2) & 3
}

/// The bit of weight `w` of 256, where byte l holds bit s of weight l of block s.
fn shared_bit(bytes: &[u8], w: usize) -> u8 {
    bytes[w % 32] >> (w / 32) & 1
}
