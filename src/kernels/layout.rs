//! How weights lie in GPU memory: the bits of a GGUF tensor, regrouped into aligned sections.
//!
//! GGUF blocks of 18, 34 or 210 bytes cannot be read as words. The repack kernel takes them apart: every row becomes
//! blocks of 32 consecutive weights, and each part of a block (quants, high bits, scales) goes to a section of its
//! own, at the same number of bits. Rows are padded to whole blocks with zeros; only F32, F16 and BF16 need it.
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

use super::spec::BufferId;
use crate::gguf::GgmlType;

/// Weights of a block, for every type.
pub const BLOCK: u32 = 32;

/// Sections start at multiples of this many bytes, so that a `vec4<u32>` never straddles two.
const ALIGN: u64 = 16;

/// One kind of data of a packed tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// The `override` constant that holds its first word; empty for the first section, which starts at word 0.
    pub name: &'static str,
    /// Weights that share a unit: 32, or 256 for what a K-quant keeps per super-block.
    pub weights: u32,
    /// Bytes of a unit.
    pub bytes: u32,
}

const fn quants(bytes: u32) -> Section {
    Section { name: "", weights: BLOCK, bytes }
}

const fn high(bytes: u32) -> Section {
    Section { name: "HIGH_AT", weights: BLOCK, bytes }
}

const fn scales(weights: u32, bytes: u32) -> Section {
    Section { name: "SCALES_AT", weights, bytes }
}

/// The f16 scale of a super-block, or the f16 pair of scale and minimum.
const fn heads(bytes: u32) -> Section {
    Section { name: "HEADS_AT", weights: 256, bytes }
}

/// Every name that [`Section::name`] can have.
pub const SECTION_OVERRIDES: &[&str] = &["HIGH_AT", "SCALES_AT", "HEADS_AT"];

/// The sections of a type, in order.
pub const fn sections(ty: GgmlType) -> &'static [Section] {
    match ty {
        GgmlType::F32 => const { &[quants(128)] },
        GgmlType::F16 | GgmlType::BF16 => const { &[quants(64)] },
        GgmlType::Q8_0 => const { &[quants(32), scales(32, 2)] },
        GgmlType::Q4_0 => const { &[quants(16), scales(32, 2)] },
        GgmlType::Q4_1 => const { &[quants(16), scales(32, 4)] },
        GgmlType::Q5_0 => const { &[quants(16), high(4), scales(32, 2)] },
        GgmlType::Q5_1 => const { &[quants(16), high(4), scales(32, 4)] },
        GgmlType::Q2_K => const { &[quants(8), scales(256, 16), heads(4)] },
        GgmlType::Q3_K => const { &[quants(8), high(4), scales(256, 12), heads(2)] },
        // GGUF keeps scale, minimum and the twelve bytes of 6-bit pairs together in 16 bytes, and so do we.
        GgmlType::Q4_K => const { &[quants(16), scales(256, 16)] },
        GgmlType::Q5_K => const { &[quants(16), high(4), scales(256, 16)] },
        GgmlType::Q6_K => const { &[quants(16), high(8), scales(256, 16), heads(2)] },
    }
}

/// The lower-case name of a type: part of variant ids and of the names of shared shader files.
pub const fn type_id(ty: GgmlType) -> &'static str {
    match ty {
        GgmlType::F32 => "f32",
        GgmlType::F16 => "f16",
        GgmlType::BF16 => "bf16",
        GgmlType::Q4_0 => "q4_0",
        GgmlType::Q4_1 => "q4_1",
        GgmlType::Q5_0 => "q5_0",
        GgmlType::Q5_1 => "q5_1",
        GgmlType::Q8_0 => "q8_0",
        GgmlType::Q2_K => "q2_k",
        GgmlType::Q3_K => "q3_k",
        GgmlType::Q4_K => "q4_k",
        GgmlType::Q5_K => "q5_k",
        GgmlType::Q6_K => "q6_k",
    }
}

/// The shared shader file that reads this type.
pub const fn weights_file(ty: GgmlType) -> &'static str {
    match ty {
        GgmlType::F32 => "weights_f32",
        GgmlType::F16 => "weights_f16",
        GgmlType::BF16 => "weights_bf16",
        GgmlType::Q4_0 => "weights_q4_0",
        GgmlType::Q4_1 => "weights_q4_1",
        GgmlType::Q5_0 => "weights_q5_0",
        GgmlType::Q5_1 => "weights_q5_1",
        GgmlType::Q8_0 => "weights_q8_0",
        GgmlType::Q2_K => "weights_q2_k",
        GgmlType::Q3_K => "weights_q3_k",
        GgmlType::Q4_K => "weights_q4_k",
        GgmlType::Q5_K => "weights_q5_k",
        GgmlType::Q6_K => "weights_q6_k",
    }
}

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
        let placed = sections(self.ty).iter().map(|section| {
            let start = at;
            at += self.section_bytes(section);
            (*section, (start / 4) as u32)
        });
        placed.collect()
    }

    /// Bytes of the whole buffer, a multiple of 16: those of the file, the padding of float rows and of sections.
    pub fn bytes(&self) -> u64 {
        sections(self.ty).iter().map(|section| self.section_bytes(section)).sum()
    }

    fn section_bytes(&self, section: &Section) -> u64 {
        let weights = u64::from(self.rows) * u64::from(self.blocks_per_row()) * u64::from(BLOCK);
        (weights.div_ceil(section.weights.into()) * u64::from(section.bytes)).next_multiple_of(ALIGN)
    }

    /// The first word of the section with this name.
    pub fn at(&self, name: &str) -> Option<u32> {
        self.sections().into_iter().find(|(section, _)| section.name == name).map(|(_, at)| at)
    }

    /// The `override` constants that the shared file of the type declares.
    pub fn constants(&self) -> Vec<(&'static str, f64)> {
        let named = self.sections().into_iter().filter(|(section, _)| !section.name.is_empty());
        named.map(|(section, at)| (section.name, f64::from(at))).collect()
    }

    /// Bytes of a row in the file.
    pub const fn raw_row_bytes(&self) -> u64 {
        self.cols as u64 / self.ty.block_len() as u64 * self.ty.block_bytes() as u64
    }
}

/// The most rows of `cols` weights whose packed form fits into `bytes`, for splitting a tensor at the binding limit;
/// 0 where not even one fits.
pub fn max_rows(ty: GgmlType, cols: u32, bytes: u64) -> u32 {
    let sections = sections(ty);
    let blocks = u64::from(cols.div_ceil(BLOCK));
    // Bits, since a row of an odd number of super-blocks may end in the middle of a unit.
    let row_bits: u64 = sections.iter().map(|s| blocks * u64::from(BLOCK * 8 * s.bytes / s.weights)).sum();
    // Words are counted in 32 bits, and a section may start up to 15 bytes late and end with a unit begun.
    let usable = bytes.min(u32::MAX.into()).saturating_sub(sections.len() as u64 * 2 * ALIGN);
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
    /// Its parts, in the order of the rows, without gaps.
    pub shards: Vec<Shard>,
}

/// Consecutive rows of a [`Matrix`] in a buffer of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Holds [`Matrix::layout`] from its first byte on.
    pub buffer: BufferId,
    /// The first row it holds.
    pub first_row: u32,
    /// How many rows it holds.
    pub rows: u32,
}

impl Matrix {
    /// A matrix in one buffer.
    pub fn whole(ty: GgmlType, rows: u32, cols: u32, buffer: BufferId) -> Self {
        Self { ty, rows, cols, shards: vec![Shard { buffer, first_row: 0, rows }] }
    }

    /// How `shard` lies in its buffer.
    pub const fn layout(&self, shard: &Shard) -> PackedLayout {
        PackedLayout::new(self.ty, shard.rows, self.cols)
    }

    /// Whether one buffer holds all rows, which the SwiGLU epilogue needs.
    pub fn is_whole(&self) -> bool {
        self.shards.len() == 1
    }
}
