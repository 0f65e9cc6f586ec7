//! Rows of caches as the GPU has them.

use crate::gguf::{GgmlType, f16_from_f32, f16_to_f32};
use crate::kernels::kv_type::KvType;
use crate::kernels::reference::{RoundedBlock, round_block};

/// The words of a row with these values.
pub fn packed_row(kv_type: KvType, values: &[f32]) -> Vec<u32> {
    let mut words = match kv_type {
        KvType::F16 => pairs(values.iter().map(|&x| f16_from_f32(x))),
        KvType::Q8_0 => quantised(GgmlType::Q8_0, values, |eight| {
            [0, 4].map(|at| u32::from_le_bytes([eight[at], eight[at + 1], eight[at + 2], eight[at + 3]])).into()
        }),
        KvType::Q4_0 => quantised(GgmlType::Q4_0, values, |eight| {
            let byte = |i: usize| u32::from(eight[i] | eight[i + 4] << 4) << (8 * i);
            vec![(0..4).map(byte).sum()]
        }),
    };
    words.resize(kv_type.row_bytes(values.len() as u32) as usize / 4, 0);
    words
}

/// A row with these values, rounded as the cache rounds them.
pub fn rounded_row(kv_type: KvType, values: &[f32]) -> Vec<f32> {
    let block = |ty, values: &[f32]| {
        let RoundedBlock { scale, quants } = round_block(ty, values);
        let number =
            move |quant: u8| if ty == GgmlType::Q8_0 { f32::from(quant as i8) } else { f32::from(quant) - 8.0 };
        quants.into_iter().take(values.len()).map(move |quant| f16_to_f32(scale) * number(quant)).collect::<Vec<f32>>()
    };
    match kv_type {
        KvType::F16 => values.iter().map(|&x| f16_to_f32(f16_from_f32(x))).collect(),
        KvType::Q8_0 => values.chunks(32).flat_map(|values| block(GgmlType::Q8_0, values)).collect(),
        KvType::Q4_0 => values.chunks(32).flat_map(|values| block(GgmlType::Q4_0, values)).collect(),
    }
}

/// The quants of all blocks, then their scales.
fn quantised(ty: GgmlType, values: &[f32], pack: impl Fn(&[u8]) -> Vec<u32>) -> Vec<u32> {
    let blocks: Vec<RoundedBlock> = values.chunks(32).map(|values| round_block(ty, values)).collect();
    let quants = blocks.iter().flat_map(|block| block.quants.chunks(8)).flat_map(pack);
    quants.chain(pairs(blocks.iter().map(|block| block.scale))).collect()
}

fn pairs(halves: impl Iterator<Item = u16>) -> Vec<u32> {
    let halves: Vec<u16> = halves.collect();
    halves.chunks(2).map(|pair| u32::from(pair[0]) | u32::from(*pair.get(1).unwrap_or(&0)) << 16).collect()
}
