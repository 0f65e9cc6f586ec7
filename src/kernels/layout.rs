//! How weights are laid out in GPU memory: the bits of a GGUF tensor, regrouped into aligned sections.
//!
//! GGUF blocks of 18, 34 or 210 bytes cannot be read as words. The repack kernel takes them apart: every row becomes
//! blocks of 32 consecutive weights, and each part of a block (quants, high bits, scales) goes to a section of its
//! own, at the same number of bits; only the base-3 digits of TQ1_0 become bit pairs. Rows are padded to whole blocks
//! with zeros, which F32, F16 and BF16 need.
//!
//! Within the words of a block, byte j of `(word >> s) & mask` belongs to weight 4k + j for some k, so that four
//! 8-bit quants in the order of the weights cost one shift and one mask. Per block of weights 0–31:
//!
//! | section | words | bits |
//! |---|---|---|
//! | 8-bit quants | 8 | word k: weights 4k … 4k+3 |
//! | nibbles | 4 | word k: weights 4k … 4k+3 in the low nibbles, 16+4k … 16+4k+3 in the high ones |
//! | bit pairs | 2 | word g: weight 16g+4k+j in bits 8j+2k, 8j+2k+1 |
//! | single bits | 1 | weight 4k+j in bit 8j+k |
//!
//! Types whose weights are entries of a grid have bytes that number the entries, and a word of signs, that of weight
//! 8g + 4h + j in bit 8j + 4h + g; the grid itself is the last section: see `formats::Grid`.
//!
//! Which sections a type has is in its row of `formats`.

use super::spec::BufferId;
pub use crate::formats::BLOCK;
use crate::formats::{GgmlType, Grid, Section};

/// Sections start at multiples of this many bytes, so that a `vec4<u32>` never straddles two.
const ALIGN: u64 = 16;

/// The packed form of a matrix, or of some rows of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackedLayout {
    /// The type of its blocks.
    pub ty: GgmlType,
    /// Rows in this buffer.
    pub rows: u32,
    /// Weights of a row, without padding; whole blocks for every type but F32, F16 and BF16.
    pub cols: u32,
}

impl PackedLayout {
    /// The layout of `rows` rows of `cols` weights.
    pub const fn new(ty: GgmlType, rows: u32, cols: u32) -> Self {
        Self { ty, rows, cols }
    }

    /// Blocks of 32 weights in a row, the padded one included.
    pub const fn blocks_per_row(&self) -> u32 {
        self.cols.div_ceil(BLOCK)
    }

    /// Each section with its first word.
    pub fn sections(&self) -> Vec<(Section, u32)> {
        let mut at = 0;
        let placed = self.ty.format().sections.iter().map(|section| {
            let start = at;
            at += self.section_bytes(section);
            (*section, (start / 4) as u32)
        });
        placed.collect()
    }

    /// Bytes of the whole buffer, a multiple of 16: those of the file, the padding of float rows and of sections, and
    /// the type's grid if it has one.
    pub fn bytes(&self) -> u64 {
        self.ty.format().sections.iter().map(|section| self.section_bytes(section)).sum()
    }

    fn section_bytes(&self, section: &Section) -> u64 {
        let weights = u64::from(self.rows) * u64::from(self.blocks_per_row()) * u64::from(BLOCK);
        (section.units(weights) * u64::from(section.bytes)).next_multiple_of(ALIGN)
    }

    /// The first word of the section with this name.
    pub fn at(&self, name: &str) -> Option<u32> {
        self.sections().into_iter().find(|(section, _)| section.name == name).map(|(_, at)| at)
    }

    /// The `override` constants that the shared file of the type declares: where each section starts.
    pub fn constants(&self) -> Vec<(&'static str, f64)> {
        let named = self.sections().into_iter().filter(|(section, _)| !section.name.is_empty());
        named.map(|(section, at)| (section.name, f64::from(at))).collect()
    }

    /// The grid that follows the blocks.
    pub fn grid(&self) -> Option<&'static Grid> {
        self.ty.format().grid()
    }

    /// Bytes of a row in the file.
    pub const fn raw_row_bytes(&self) -> u64 {
        self.cols as u64 / self.ty.block_len() as u64 * self.ty.block_bytes() as u64
    }
}

/// The most rows of `cols` weights whose packed form fits into `bytes`, for splitting a tensor at the binding limit;
/// 0 where not even one fits.
pub fn max_rows(ty: GgmlType, cols: u32, bytes: u64) -> u32 {
    let sections = ty.format().sections;
    let blocks = u64::from(cols.div_ceil(BLOCK));
    // Bits, since a row of an odd number of super-blocks may end in the middle of a unit.
    let row_bits = |s: &Section| (BLOCK * 8 * s.bytes).checked_div(s.weights).unwrap_or(0);
    let row_bits: u64 = sections.iter().map(|s| blocks * u64::from(row_bits(s))).sum();
    let table: u64 = sections.iter().filter(|s| s.weights == 0).map(|s| u64::from(s.bytes)).sum();
    // Word numbers have 32 bits; up to 15 bytes of padding may precede a section, and its last unit may be partly used.
    let usable = bytes.min(u32::MAX.into()).saturating_sub(table + sections.len() as u64 * 2 * ALIGN);
    (usable * 8).checked_div(row_bits).unwrap_or(0).min(u32::MAX.into()) as u32
}

/// A weight matrix on the GPU, whole or split by rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matrix {
    /// The type of its blocks.
    pub ty: GgmlType,
    /// All rows.
    pub rows: u32,
    /// Weights of a row.
    pub cols: u32,
    /// The shards of the matrix, in the order of the rows, without gaps.
    pub shards: Vec<Shard>,
}

/// Consecutive rows of a [`Matrix`] in a buffer of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// The packed rows: [`Matrix::layout`], from the buffer's first byte on.
    pub buffer: BufferId,
    /// The first of its rows.
    pub first_row: u32,
    /// How many rows it has.
    pub rows: u32,
}

impl Matrix {
    /// A matrix in one buffer.
    pub fn whole(ty: GgmlType, rows: u32, cols: u32, buffer: BufferId) -> Self {
        Self { ty, rows, cols, shards: vec![Shard { buffer, first_row: 0, rows }] }
    }

    /// The layout of `shard` in its buffer.
    pub const fn layout(&self, shard: &Shard) -> PackedLayout {
        PackedLayout::new(self.ty, shard.rows, self.cols)
    }

    /// Whether one buffer holds all rows, which the SwiGLU epilogue needs.
    pub fn is_whole(&self) -> bool {
        self.shards.len() == 1
    }
}
