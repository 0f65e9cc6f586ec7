//! Reading the packed form of a tensor on the CPU: the CPU twin of `shaders/shared/weights_*.wgsl`.

use crate::formats::{Content, Format, PackedBlock, Section, Twin};
use crate::kernels::layout::PackedLayout;

/// A packed tensor.
pub struct Packed<'a> {
    format: &'static Format,
    words: &'a [u32],
    /// Each section with its first word.
    sections: Vec<(Section, u32)>,
}

impl<'a> Packed<'a> {
    /// The tensor that `words` holds.
    pub fn new(layout: &PackedLayout, words: &'a [u32]) -> Self {
        Self { format: layout.ty.format(), words, sections: layout.sections() }
    }

    /// The 32 weights of block `b`.
    pub fn block(&self, b: usize) -> [f32; 32] {
        let mut weights = [0.0; 32];
        match &self.format.twin {
            Some(twin) => self.quantised(twin, b, &mut weights),
            None => (self.format.dequantize)(self.unit("", b), &mut weights),
        }
        weights
    }

    fn quantised(&self, twin: &Twin, b: usize, weights: &mut [f32; 32]) {
        let scales = (twin.scales)(self.unit("SCALES_AT", b), self.unit("HEADS_AT", b), b % 8);
        let quants = std::array::from_fn(|i| self.word(b, i / 4).to_le_bytes()[i % 4]);
        let block = PackedBlock { quants, low: self.unit("", b), high: self.unit("HIGH_AT", b) };
        for (i, weight) in weights.iter_mut().enumerate() {
            *weight = twin.levels.of(&block, i) * scales[i / 16] - scales[2 + i / 16];
        }
    }

    /// Word `k` of the quants of block `b`, which has four 8-bit quants in the order of the weights.
    fn word(&self, b: usize, k: usize) -> u32 {
        let mut word = 0;
        for &(section, start) in &self.sections {
            let at = start as usize + b * section.bytes as usize / 4;
            let shift = match section.content {
                Content::Quants(shift) => shift,
                Content::Signs => return self.words[at] >> (k % 2 * 4 + k / 2) & 0x0101_0101,
                _ => continue,
            };
            let unit = &self.words[at..];
            word |= match section.bytes {
                32 => unit[k],
                16 => unit[k % 4] >> (k & 4) & 0x0f0f_0f0f,
                8 => unit[k / 4] >> (2 * (k % 4)) & 0x0303_0303,
                4 => unit[0] >> k & 0x0101_0101,
                bytes => unreachable!("no section has {bits} bits for a quant", bits = bytes / 4),
            } << shift;
        }
        word
    }

    /// The bytes that the section of this name has for block `b`; empty where there is no such section.
    fn unit(&self, name: &str, b: usize) -> &[u8] {
        let Some((section, start)) = self.sections.iter().find(|(section, _)| section.name == name) else {
            return &[];
        };
        let (bytes, unit) = (section.bytes as usize, b * 32 / section.weights as usize);
        &bytemuck::cast_slice(self.words)[*start as usize * 4 + unit * bytes..][..bytes]
    }
}
