//! The grids: tables whose entries are four or eight weights before scale and sign. A file has them as numbers of
//! entries, so that some combinations of values have no code at all.
//!
//! On the GPU a grid lies behind the blocks of each matrix, where it is one more section of a buffer that every reader
//! binds anyway. That costs up to 8 KiB for each matrix, and no binding.
//!
//! The codes are 9 KiB that no compressor makes smaller, so the WebAssembly of pages lacks them: a page fetches them
//! with the first model that [`needs_rare`](crate::model::needs_rare).

use std::fmt;
use std::sync::OnceLock;

include!(concat!(env!("OUT_DIR"), "/grids.rs"));

/// Where the codes of a grid lie in those of all, which `build.rs` puts one after the other: bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Codes {
    at: usize,
    bytes: usize,
}

static GIVEN: OnceLock<Vec<u8>> = OnceLock::new();

/// Gives the codes of all grids, where this build lacks them. The first call counts.
pub fn give_grids(codes: Vec<u8>) {
    let _ = GIVEN.set(codes);
}

impl Codes {
    /// # Panics
    /// Where a page did not give them.
    fn get(self) -> &'static [u8] {
        let all = if HELD.is_empty() { GIVEN.get().map_or(HELD, Vec::as_slice) } else { HELD };
        &all[self.at..][..self.bytes]
    }
}

/// A table of the `gguf` package, made by `tools/make_grids.py`.
#[derive(PartialEq, Eq)]
pub struct Grid {
    /// Two bytes for each entry, which hold the codes of its values, the lowest bits first.
    codes: Codes,
    /// Values of an entry: 4 or 8.
    width: usize,
    /// The values of the codes.
    values: &'static [i8],
    /// Words of the packed form: see `Grid::packed`.
    pub words: u32,
    form: Form,
}

/// How entries lie in the words of a packed grid.
#[derive(PartialEq, Eq)]
enum Form {
    /// Four or eight values: one or two words of bytes, 64 more than the value.
    Bytes,
    /// Four codes: a word of bytes, 8 more than the code.
    Codes,
    /// Eight codes in the lower two bits of the nibbles, the first four in the low ones; those of the second half of
    /// the entries in the upper two bits.
    Pairs,
}

impl fmt::Debug for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a grid of {} entries of {}", self.codes.bytes / 2, self.width)
    }
}

/// 256 entries of four magnitudes.
pub static IQ3_XXS: Grid =
    Grid { codes: IQ3_XXS_CODES, width: 4, values: &[4, 12, 20, 28, 36, 44, 52, 62], words: 256, form: Form::Bytes };

/// 512 entries of four magnitudes.
pub static IQ3_S: Grid =
    Grid { codes: IQ3_S_CODES, width: 4, values: &[1, 3, 5, 7, 9, 11, 13, 15], words: 512, form: Form::Codes };

/// Entries of eight magnitudes.
const fn of_magnitudes(codes: Codes) -> Grid {
    Grid { codes, width: 8, values: &[8, 25, 43], words: codes.bytes as u32, form: Form::Bytes }
}

/// 256 entries.
pub static IQ2_XXS: Grid = of_magnitudes(IQ2_XXS_CODES);

/// 512 entries.
pub static IQ2_XS: Grid = of_magnitudes(IQ2_XS_CODES);

/// 1024 entries.
pub static IQ2_S: Grid = of_magnitudes(IQ2_S_CODES);

/// 2048 entries of eight values with their signs, for IQ1_S and IQ1_M.
pub static IQ1: Grid = Grid { codes: IQ1_S_CODES, width: 8, values: &[-1, 0, 1], words: 1024, form: Form::Pairs };

impl Grid {
    /// The code of value `i` of an entry.
    fn code(&self, entry: usize, i: usize) -> usize {
        let bits = 16 / self.width;
        let codes = self.codes.get();
        let codes = u16::from_le_bytes([codes[2 * entry], codes[2 * entry + 1]]);
        usize::from(codes >> (bits * i)) & ((1 << bits) - 1)
    }

    /// Value `i` of an entry.
    pub fn value(&self, entry: usize, i: usize) -> f32 {
        self.values[self.code(entry, i)].into()
    }

    /// Whether an entry takes two words.
    pub fn is_of_pairs(&self) -> bool {
        self.width == 8 && self.form == Form::Bytes
    }

    /// Value `i` of an entry of a grid that has no negative ones.
    fn magnitude(&self, (entry, i): (usize, usize)) -> u32 {
        self.values[self.code(entry, i)].unsigned_abs().into()
    }

    /// The words as shaders read them.
    pub fn packed(&self) -> Vec<u32> {
        let words = self.words as usize;
        let code = |entry: usize, i: usize| self.code(entry, i) as u32;
        let place = |i: usize| 8 * (i % 4) + 4 * (i / 4);
        // Entry and value of byte i of word n.
        let at = |n: usize, i: usize| ((4 * n + i) / self.width, (4 * n + i) % self.width);
        let word = |n: usize| -> u32 {
            match self.form {
                Form::Bytes => (0..4).map(|i| (64 + self.magnitude(at(n, i))) << (8 * i)).sum(),
                Form::Codes => (0..4).map(|i| (8 + code(n, i)) << (8 * i)).sum(),
                Form::Pairs => (0..8).map(|i| (code(n, i) + (code(n + words, i) << 2)) << place(i)).sum(),
            }
        };
        (0..words).map(word).collect()
    }
}

/// Eight signs of seven bits: the number of minus signs is even.
pub(super) fn even_signs(seven: u32) -> u8 {
    let seven = (seven & 127) as u8;
    seven | ((seven.count_ones() as u8 & 1) << 7)
}

/// `value` with the sign of bit `i`.
pub(super) fn signed(value: f32, signs: u8, i: usize) -> f32 {
    if signs >> i & 1 == 1 { -value } else { value }
}

/// The signs of the eight weights around `i` of 32, of which the last follows from the others.
pub(super) fn packed_even_signs(quants: &[u8; 32], i: usize) -> u8 {
    even_signs(quants[i / 8 * 8..][..7].iter().enumerate().map(|(i, &bit)| u32::from(bit) << i).sum())
}

/// The four bits that stand where the signs of weights 7, 15, 23 and 31 would: the upper ones of the packed word.
pub(super) fn spare_bits(packed: &[u8]) -> u8 {
    packed[3] >> 4
}

/// Bit `i` of a block's single bits, from a word of four times seven signs and four other bits above them.
pub(super) fn stored_bit(word: u32, i: usize) -> u8 {
    let from = if i % 8 == 7 { 28 + i / 8 } else { 7 * (i / 8) + i % 8 };
    (word >> from & 1) as u8
}

/// The scales of IQ2_XS and IQ2_S of a block of 32, whose two 4-bit scales are a byte: see `Twin::scales`.
pub(super) fn two_scales(scales: u8, d: f32) -> [f32; 4] {
    let [first, second] = [scales & 15, scales >> 4].map(|scale| (f32::from(scale) + 0.5) * 0.25 * d);
    [first, second, 0.0, 0.0]
}
