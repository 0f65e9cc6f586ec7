//! Reading the packed form of a tensor on the CPU: the twin of `shaders/shared/weights_*.wgsl`, word for word.

use crate::gguf::{GgmlType, f16_to_f32};
use crate::kernels::layout::PackedLayout;

/// A packed tensor.
pub struct Packed<'a> {
    ty: GgmlType,
    words: &'a [u32],
    high: usize,
    scales: usize,
    heads: usize,
}

impl<'a> Packed<'a> {
    /// The tensor that `words` holds.
    pub fn new(layout: &PackedLayout, words: &'a [u32]) -> Self {
        let at = |name| layout.at(name).map_or(usize::MAX, |word| word as usize);
        Self { ty: layout.ty, words, high: at("HIGH_AT"), scales: at("SCALES_AT"), heads: at("HEADS_AT") }
    }

    /// The 32 weights of block `b`.
    pub fn block(&self, b: usize) -> [f32; 32] {
        match self.ty {
            GgmlType::F32 => std::array::from_fn(|i| f32::from_bits(self.words[b * 32 + i])),
            GgmlType::F16 => std::array::from_fn(|i| self.half(b * 16, i)),
            GgmlType::BF16 => {
                std::array::from_fn(|i| f32::from_bits(self.words[b * 16 + i / 2] << (16 * (1 - i % 2)) & 0xffff_0000))
            }
            _ => self.quantised(b),
        }
    }

    fn quantised(&self, b: usize) -> [f32; 32] {
        let (words, scales) = (self.words(b), self.scales(b));
        std::array::from_fn(|i| {
            let byte = words[i / 4].to_le_bytes()[i % 4];
            let quant = if self.ty == GgmlType::Q8_0 { f32::from(byte.cast_signed()) } else { f32::from(byte) };
            quant * scales[i / 16] - scales[2 + i / 16]
        })
    }

    /// Four 8-bit quants per word, in the order of the weights.
    pub fn words(&self, b: usize) -> [u32; 8] {
        std::array::from_fn(|k| self.word(b, k))
    }

    fn word(&self, b: usize, k: usize) -> u32 {
        let nibbles = || self.words[b * 4 + k % 4] >> (k & 4) & 0x0f0f_0f0f;
        let bits = || self.words[self.high + b] >> k & 0x0101_0101;
        let pairs = |section: usize| self.words[section + b * 2 + k / 4] >> (2 * (k % 4)) & 0x0303_0303;
        match self.ty {
            GgmlType::Q8_0 => self.words[b * 8 + k],
            GgmlType::Q4_0 | GgmlType::Q4_1 | GgmlType::Q4_K => nibbles(),
            GgmlType::Q5_0 | GgmlType::Q5_1 | GgmlType::Q5_K => nibbles() | bits() << 4,
            GgmlType::Q6_K => nibbles() | pairs(self.high) << 4,
            GgmlType::Q3_K => pairs(0) | bits() << 2,
            GgmlType::Q2_K => pairs(0),
            GgmlType::F32 | GgmlType::F16 | GgmlType::BF16 => unreachable!("floats have no quants"),
        }
    }

    /// Scale of weights 0–15 and of 16–31, then their minima: weight = scale · quant - minimum.
    pub fn scales(&self, b: usize) -> [f32; 4] {
        let centred = |scale: f32, zero: f32| [scale, scale, zero * scale, zero * scale];
        match self.ty {
            GgmlType::Q8_0 => centred(self.half(self.scales, b), 0.0),
            GgmlType::Q4_0 => centred(self.half(self.scales, b), 8.0),
            GgmlType::Q5_0 => centred(self.half(self.scales, b), 16.0),
            GgmlType::Q4_1 | GgmlType::Q5_1 => {
                let (scale, offset) = (self.half(self.scales, 2 * b), self.half(self.scales, 2 * b + 1));
                [scale, scale, -offset, -offset]
            }
            GgmlType::Q4_K | GgmlType::Q5_K => self.six_bit_scales(b),
            GgmlType::Q2_K => {
                let (d, min) = (self.half(self.heads, b / 8 * 2), self.half(self.heads, b / 8 * 2 + 1));
                let [first, second] = [0, 1].map(|i| self.byte(self.scales, 2 * b + i));
                let part = |byte: u8| f32::from(byte & 15) * d;
                [part(first), part(second), f32::from(first >> 4) * min, f32::from(second >> 4) * min]
            }
            GgmlType::Q3_K => {
                let pair = [0, 1].map(|i| (self.third_scale(b, i) - 32.0) * self.half(self.heads, b / 8));
                [pair[0], pair[1], 4.0 * pair[0], 4.0 * pair[1]]
            }
            GgmlType::Q6_K => {
                let d = self.half(self.heads, b / 8);
                let pair = [0, 1].map(|i| f32::from(self.byte(self.scales, 2 * b + i).cast_signed()) * d);
                [pair[0], pair[1], 32.0 * pair[0], 32.0 * pair[1]]
            }
            GgmlType::F32 | GgmlType::F16 | GgmlType::BF16 => unreachable!("floats have no scales"),
        }
    }

    fn six_bit_scales(&self, b: usize) -> [f32; 4] {
        let at = self.scales + b / 8 * 4;
        let byte = |i: usize| self.byte(at + 1, i);
        let i = b % 4;
        let (scale, min) = if b % 8 < 4 {
            (byte(i) & 63, byte(4 + i) & 63)
        } else {
            (byte(8 + i) & 15 | byte(i) >> 6 << 4, byte(8 + i) >> 4 | byte(4 + i) >> 6 << 4)
        };
        let (scale, min) = (f32::from(scale) * self.half(at, 0), f32::from(min) * self.half(at, 1));
        [scale, scale, min, min]
    }

    /// The 6-bit scale of half `i` of block `b` of Q3_K.
    fn third_scale(&self, b: usize, i: usize) -> f32 {
        let at = self.scales + b / 8 * 3;
        let n = 2 * (b % 8) + i;
        let low = self.byte(at, n % 8) >> (n / 8 * 4) & 15;
        let high = self.byte(at, 8 + n % 4) >> (n / 4 * 2) & 3;
        f32::from(low | high << 4)
    }

    fn byte(&self, word: usize, i: usize) -> u8 {
        self.words[word + i / 4].to_le_bytes()[i % 4]
    }

    fn half(&self, word: usize, i: usize) -> f32 {
        f16_to_f32((self.words[word + i / 2] >> (16 * (i % 2))) as u16)
    }
}
