//! Random numbers and random tensors.

use super::Bench;
use crate::formats::{GgmlType, NumberEncoding};
use crate::kernels::layout::{Matrix, PackedLayout, Shard};
use crate::kernels::repack::reference::packed;

/// Splitmix64 (Steele, Lea and Flood 2014).
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
    /// Whether tensors get no weights: see [`Random::without_weights`].
    weightless: bool,
}

impl Random {
    /// A generator that gives the same numbers for the same seed.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed, weightless: false }
    }

    /// The same numbers, but tensors of zeros, which cost nothing to make: for who looks at dispatches and runs none.
    pub const fn without_weights(self) -> Self {
        Self { weightless: true, ..self }
    }

    /// The generator for the family `name` of cases. Each has its own, so that a new case of one family leaves the
    /// numbers of all others as they are.
    pub fn of(seed: u64, name: &str) -> Self {
        // FNV-1a spreads names over 64 bits; what splitmix64 makes of the sum with the seed is where the stream starts,
        // so that the streams of near seeds do not overlap.
        let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, hash);
        Self::new(Self::new(hash.wrapping_add(seed)).bits())
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Random bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| (self.bits() >> 32) as u8).collect()
    }

    /// A number from 0 to `below` - 1.
    pub fn below(&mut self, below: u32) -> u32 {
        (self.bits() % u64::from(below)) as u32
    }

    /// Numbers between -1 and 1.
    pub fn floats(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| (self.bits() >> 40) as f32 / (1u64 << 23) as f32 - 1.0).collect()
    }
}

/// A random tensor `[rows, cols]`, as the file holds it.
pub struct Tensor {
    pub ty: GgmlType,
    pub rows: u32,
    pub cols: u32,
    pub raw: Vec<u8>,
    weightless: bool,
}

impl Tensor {
    /// Random bits in blocks, with scales that keep the weights within about ±`size`.
    pub fn new(random: &mut Random, ty: GgmlType, [rows, cols]: [u32; 2], size: f32) -> Self {
        let layout = PackedLayout::new(ty, rows, cols);
        let bytes = (layout.raw_row_bytes() * u64::from(rows)) as usize;
        if random.weightless {
            return Self { ty, rows, cols, raw: vec![0; bytes], weightless: true };
        }
        let mut raw = random.bytes(bytes);
        for block in raw.chunks_exact_mut(ty.block_bytes()) {
            let value = random.floats(1)[0] * size;
            set_numbers(ty, block, value);
        }
        Self { ty, rows, cols, raw, weightless: false }
    }

    /// The tensor for the reference kernels.
    pub fn reference(&self) -> crate::kernels::reference::Matrix<'_> {
        crate::kernels::reference::Matrix::new(self.ty, self.rows as usize, self.cols as usize, &self.raw)
            .expect("the tensor is whole blocks")
    }

    /// The packed tensor on a bench, in shards that start at these rows.
    pub fn upload(&self, bench: &mut Bench, starts: &[u32]) -> Matrix {
        let row_bytes = PackedLayout::new(self.ty, 1, self.cols).raw_row_bytes() as usize;
        let ends = starts.iter().skip(1).chain([&self.rows]);
        let shard = |(&first_row, &end): (&u32, &u32)| {
            let layout = PackedLayout::new(self.ty, end - first_row, self.cols);
            let raw = &self.raw[first_row as usize * row_bytes..end as usize * row_bytes];
            let packed = if self.weightless { vec![0; layout.bytes() as usize] } else { packed(&layout, raw) };
            Shard { buffer: bench.bytes(&packed), first_row, rows: layout.rows }
        };
        Matrix { ty: self.ty, rows: self.rows, cols: self.cols, shards: starts.iter().zip(ends).map(shard).collect() }
    }
}

/// Scales of one byte each differ within a block.
fn set_numbers(ty: GgmlType, block: &mut [u8], size: f32) {
    const SHARES: [f32; 4] = [1.0, 0.5, 0.75, 0.375];
    for (field, share) in ty.format().numbers.iter().zip(SHARES.into_iter().cycle()) {
        let share = if field.encoding == NumberEncoding::UE4M3 { share } else { 1.0 };
        field.set(block, share * size / field.times);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_family_and_every_seed_has_its_own_numbers() {
        let streams = ["rope", "rope_kv", "compute/pool", "pool", ""].map(|name| [1, 2, 3].map(|seed| (seed, name)));
        let numbers = |&(seed, name): &(u64, &str)| {
            let mut random = Random::of(seed, name);
            (0..100).map(|_| random.bits()).collect::<Vec<_>>()
        };
        let seen: BTreeSet<u64> = streams.as_flattened().iter().flat_map(numbers).collect();
        assert_eq!(seen.len(), 15 * 100, "two streams overlap");
        assert_eq!(Random::of(1, "rope").bits(), Random::of(1, "rope").bits());
    }
}
