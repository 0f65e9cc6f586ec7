//! The formats of GGML tensors. All that the crate knows of a format stands in one file here: its row of the table
//! ([`Format`]), what its blocks mean, and how the CPU twins of the shaders pack and read it. [`GgmlType::format`] is
//! the only `match` on the type; everything else asks the row.
//!
//! A block holds 1, 32, 64, 128 or 256 weights. Quantised weights are small integers, the quants, with scales beside
//! them. Two kinds of them exist, and a shader reads both as 32 bytes and the scales of either half of a block:
//!
//! - affine: weight = scale · quant - minimum;
//! - by codebook: weight = scale · table\[quant\], the table being of signed bytes;
//! - by grid: a number names four or eight weights at once, the entry of a larger table, which lies behind the matrix.

mod blocks;
mod f8_e4m3;
mod grids;
pub mod integers;
mod iq1_m;
mod iq1_s;
mod iq2_s;
mod iq2_xs;
mod iq2_xxs;
mod iq3_s;
mod iq3_xxs;
mod iq4_nl;
mod iq4_xs;
mod mxfp4;
mod numbers;
mod nvfp4;
mod q1_0;
mod q2_0;
mod q2_k;
mod q3_k;
mod q4_0;
mod q4_1;
mod q4_k;
mod q5_0;
mod q5_1;
mod q5_k;
mod q6_k;
mod q8_0;
mod tq1_0;
mod tq2_0;

use half::f16;

pub use grids::{Grid, give_grids};
use integers::Dot;

/// Declares the types and the one `match`: a type and its row.
macro_rules! formats {
    ($($ty:ident => $row:path,)*) => {
        /// A tensor type that webgguf can read.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(non_camel_case_types, reason = "the names are GGML's own")]
        pub enum GgmlType { $($ty,)* }

        impl GgmlType {
            /// Every known type.
            pub const ALL: [Self; [$(stringify!($ty)),*].len()] = [$(Self::$ty,)*];

            /// The description of the type.
            pub const fn format(self) -> &'static Format {
                match self { $(Self::$ty => &$row,)* }
            }
        }
    };
}

formats! {
    F32 => numbers::F32,
    F16 => numbers::F16,
    BF16 => numbers::BF16,
    Q4_0 => q4_0::FORMAT,
    Q4_1 => q4_1::FORMAT,
    Q5_0 => q5_0::FORMAT,
    Q5_1 => q5_1::FORMAT,
    Q8_0 => q8_0::FORMAT,
    Q2_K => q2_k::FORMAT,
    Q3_K => q3_k::FORMAT,
    Q4_K => q4_k::FORMAT,
    Q5_K => q5_k::FORMAT,
    Q6_K => q6_k::FORMAT,
    IQ4_NL => iq4_nl::FORMAT,
    MXFP4 => mxfp4::FORMAT,
    IQ3_XXS => iq3_xxs::FORMAT,
    IQ3_S => iq3_s::FORMAT,
    IQ2_XXS => iq2_xxs::FORMAT,
    IQ2_XS => iq2_xs::FORMAT,
    IQ2_S => iq2_s::FORMAT,
    IQ1_S => iq1_s::FORMAT,
    IQ1_M => iq1_m::FORMAT,
    IQ4_XS => iq4_xs::FORMAT,
    TQ2_0 => tq2_0::FORMAT,
    TQ1_0 => tq1_0::FORMAT,
    NVFP4 => nvfp4::FORMAT,
    Q1_0 => q1_0::FORMAT,
    Q2_0 => q2_0::FORMAT,
    F8_E4M3 => f8_e4m3::FORMAT,
}

impl GgmlType {
    /// The type with this id in a GGUF tensor table, if webgguf knows it.
    pub fn from_id(id: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.id() == id)
    }

    /// The id in a GGUF tensor table.
    pub const fn id(self) -> u32 {
        self.format().id
    }

    /// GGML's name, such as `Q4_K`.
    pub const fn name(self) -> &'static str {
        self.format().name
    }

    /// The name in lower case, such as `q4_k`: in the API, in ids of kernel variants and in names of shader files.
    pub const fn key(self) -> &'static str {
        self.format().key
    }

    /// Weights per block.
    pub const fn block_len(self) -> usize {
        self.format().block_len
    }

    /// Bytes per block.
    pub const fn block_bytes(self) -> usize {
        self.format().block_bytes
    }

    /// Whether weights are small integers with a scale per block, not plain numbers.
    pub const fn is_quantised(self) -> bool {
        self.format().is_quantised()
    }
}

/// A row of the table of formats.
#[derive(Debug)]
pub struct Format {
    /// The id in a GGUF tensor table.
    pub id: u32,
    /// GGML's name.
    pub name: &'static str,
    /// The name in lower case.
    pub key: &'static str,
    /// The values of `general.file_type` for files that are mostly of this type, with their labels.
    pub file_types: &'static [(u64, &'static str)],
    /// Weights per block: 1 for plain numbers, else 32, 64, 128 or 256.
    pub block_len: usize,
    /// Bytes per block.
    pub block_bytes: usize,
    /// The numbers among the bytes of a block.
    pub numbers: &'static [NumberField],
    /// The sections of a packed matrix in order: see `kernels/layout.rs`.
    pub sections: &'static [Section],
    /// The file of `shaders/weights/` that reads packed weights.
    pub weights: &'static str,
    /// The file of `shaders/repack/` that packs blocks.
    pub repack: &'static str,
    /// Whole blocks → f32. Results are those of the `gguf` Python package to the last bit: each formula is evaluated
    /// in f32 in the order written.
    pub dequantize: fn(&[u8], &mut [f32]),
    /// The product of a row of blocks with activations of 16 bits, for the CPU path; `None` where it takes both as f32.
    pub dot: Option<Dot>,
    /// The absolute error of a dot product on the GPU that the tests tolerate, where the result is of the order of 1.
    /// Quants are summed without their zero point, which is taken off at the end and costs a few bits: the more, the
    /// farther from 0 it lies.
    pub dot_error: f32,
    /// For the CPU twins of the shaders; `None` for plain numbers.
    pub twin: Option<Twin>,
}

impl Format {
    /// Whether weights are small integers with a scale per block, not plain numbers.
    pub const fn is_quantised(&self) -> bool {
        self.block_len > 1
    }

    /// The grid that follows the blocks of a packed matrix.
    pub fn grid(&self) -> Option<&'static Grid> {
        self.sections.iter().find_map(|section| match section.content {
            Content::Grid(grid) => Some(grid),
            _ => None,
        })
    }
}

/// The label of a value of `general.file_type`, for files of types that webgguf reads.
pub fn file_type_label(id: u64) -> Option<&'static str> {
    let labels = GgmlType::ALL.into_iter().flat_map(|ty| ty.format().file_types);
    labels.into_iter().find(|row| row.0 == id).map(|row| row.1)
}

/// A number among the bytes of a block: a scale, a minimum, or the weight itself.
#[derive(Debug, Clone, Copy)]
pub struct NumberField {
    /// The first byte of the number.
    pub at: usize,
    /// How it is stored.
    pub encoding: NumberEncoding,
    /// The largest integer that it is multiplied by.
    pub times: f32,
}

impl NumberField {
    /// Writes `value`, rounded, into a block; only its size where the encoding has no sign.
    pub fn set(&self, block: &mut [u8], value: f32) {
        match self.encoding {
            NumberEncoding::F32 => block[self.at..][..4].copy_from_slice(&value.to_le_bytes()),
            NumberEncoding::F16 => block[self.at..][..2].copy_from_slice(&f16::from_f32(value).to_le_bytes()),
            NumberEncoding::BF16 => block[self.at..][..2].copy_from_slice(&value.to_le_bytes()[2..]),
            NumberEncoding::E8M0 => block[self.at] = largest_byte(value.abs(), 254, mxfp4::half_of_e8m0),
            NumberEncoding::F16InQuarters => {
                for k in 0..4 {
                    let byte = &mut block[self.at + 2 * k + 1];
                    *byte = *byte & 15 | ((f16::from_f32(value).to_bits() >> (4 * k)) as u8) << 4;
                }
            }
            NumberEncoding::E4M3 => {
                let sign = u8::from(value.is_sign_negative()) << 7;
                block[self.at] = sign | largest_byte(value.abs(), 126, f8_e4m3::number);
            }
            NumberEncoding::UE4M3 => block[self.at] = largest_byte(value.abs(), 126, nvfp4::half_of_ue4m3),
        }
    }
}

/// How a number of a block is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberEncoding {
    /// 32-bit float.
    F32,
    /// 16-bit float.
    F16,
    /// The upper half of a 32-bit float; the lower half is cut off.
    BF16,
    /// A power of two in one byte, halved: MXFP4's tables have whole numbers.
    E8M0,
    /// 16-bit float, a quarter of it in the upper nibble of each of four 16-bit words, the lowest first.
    F16InQuarters,
    /// A byte of a sign, four bits of exponent and three of mantissa.
    E4M3,
    /// The same without the sign, halved as E8M0 is.
    UE4M3,
}

/// The largest byte up to `last` whose `number` is at most `value`; 0 where there is none.
fn largest_byte(value: f32, last: u8, number: fn(u8) -> f32) -> u8 {
    (0..=last).rev().find(|&byte| number(byte) <= value).unwrap_or(0)
}

const fn f16_field(at: usize, times: f32) -> NumberField {
    NumberField { at, encoding: NumberEncoding::F16, times }
}

/// Weights of a block of the packed layout, for every type.
pub const BLOCK: u32 = 32;

/// Weights of a super-block.
const SUPER_BLOCK: u32 = 256;

/// One kind of data of a packed matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// The `override` constant that holds its first word; empty for the first section, which starts at word 0.
    pub name: &'static str,
    /// Weights that share a unit: 32, 64, 128 or 256; 0 where all of the matrix do.
    pub weights: u32,
    /// Bytes of a unit.
    pub bytes: u32,
    /// The contents of the section.
    pub content: Content,
}

/// The part of a block that a section holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Bits of the quants from this one on, as many as the unit has for each of 32 weights, in the order that
    /// `kernels/layout.rs` describes.
    Quants(u32),
    /// The quants are single bits, in the order of signs that `kernels/layout.rs` describes.
    Signs,
    /// The block's bytes from this one on, as they are.
    Bytes(usize),
    /// Byte i of unit u is byte `at + unit · u + byte · i` of the block.
    Strided {
        /// The first byte of unit 0.
        at: usize,
        /// From one unit to the next.
        unit: usize,
        /// From one byte of a unit to the next.
        byte: usize,
    },
    /// The words of the grid, the same in every matrix.
    Grid(&'static Grid),
}

impl Section {
    /// Units of a matrix of `weights` weights.
    pub const fn units(&self, weights: u64) -> u64 {
        if self.weights == 0 { 1 } else { weights.div_ceil(self.weights as u64) }
    }
}

/// The low bits of 32 quants.
const fn quants(bytes: u32) -> Section {
    Section { name: "", weights: BLOCK, bytes, content: Content::Quants(0) }
}

/// The bits of 32 quants from bit `shift` on.
const fn high(bytes: u32, shift: u32) -> Section {
    Section { name: "HIGH_AT", weights: BLOCK, bytes, content: Content::Quants(shift) }
}

/// Scales (and minima) of `weights` weights, which a block has at byte `at`.
const fn scales(weights: u32, bytes: u32, at: usize) -> Section {
    Section { name: "SCALES_AT", weights, bytes, content: Content::Bytes(at) }
}

/// A unit of `bytes` bytes for each block of 32, which lie together in the super-block from byte `at` on.
const fn parts(name: &'static str, bytes: u32, at: usize) -> Section {
    Section { name, weights: BLOCK, bytes, content: Content::Strided { at, unit: bytes as usize, byte: 1 } }
}

/// A bit for each of 32 weights.
const fn signs(name: &'static str) -> Section {
    Section { name, weights: BLOCK, bytes: 4, content: Content::Signs }
}

/// The words of a grid.
const fn table(grid: &'static Grid) -> Section {
    Section { name: "TABLE_AT", weights: 0, bytes: 4 * grid.words, content: Content::Grid(grid) }
}

/// The f16 scale of a super-block, or the f16 pair of scale and minimum, which the super-block has at byte `at`.
const fn heads(bytes: u32, at: usize) -> Section {
    Section { name: "HEADS_AT", weights: SUPER_BLOCK, bytes, content: Content::Bytes(at) }
}

/// Every name that [`Section::name`] can have.
pub const SECTION_OVERRIDES: &[&str] = &["HIGH_AT", "SIGNS_AT", "SCALES_AT", "HEADS_AT", "TABLE_AT"];

/// The description of a format for the CPU twins of the shaders, `repack::reference` and `repack::packed`. They take
/// blocks apart weight by weight where the shaders move and read whole words.
#[derive(Debug)]
pub struct Twin {
    /// Quant i of a block, as the file holds it.
    pub quant: fn(&[u8], usize) -> u8,
    /// The value of a quant before scale and minimum.
    pub levels: Levels,
    /// Scale of weights 0–15 and of 16–31, then their minima, of block `part` of a super-block (0 where there is
    /// none), given its units of the sections of scales and of heads: weight = scale · level - minimum.
    pub scales: fn(scales: &[u8], heads: &[u8], part: usize) -> [f32; 4],
}

/// The values of quants.
#[derive(Debug)]
pub enum Levels {
    /// Itself.
    Unsigned,
    /// Itself, as a signed byte.
    Signed,
    /// An entry of a table.
    Codebook(&'static [i8]),
    /// A value of an entry of a grid: that of weight i of a block. The quants are its signs.
    Grid(fn(&PackedBlock, usize) -> f32),
}

/// The parts of a block of 32 weights in a packed matrix, without scales.
#[derive(Debug)]
pub struct PackedBlock<'a> {
    /// The quants.
    pub quants: [u8; 32],
    /// The block's unit of the first section; for grids: the low eight bits of the entries' indices.
    pub low: &'a [u8],
    /// The block's unit of the section `HIGH_AT`.
    pub high: &'a [u8],
}

impl Levels {
    /// The level of weight `i` of a block.
    pub fn of(&self, block: &PackedBlock, i: usize) -> f32 {
        let quant = block.quants[i];
        match self {
            Self::Unsigned => quant.into(),
            Self::Signed => quant.cast_signed().into(),
            Self::Codebook(table) => table[usize::from(quant)].into(),
            Self::Grid(level) => level(block, i),
        }
    }
}
