//! Products of rows of blocks with activations of 16 bits, for the CPU path. The weights stay the integers that the
//! blocks hold: weight = scale · integer − minimum.

use crate::simd::{Bytes, F32x4, I32x4};

/// Activations that share a scale.
pub const BLOCK: usize = 32;
/// Weights that share a scale and a minimum, at least.
const GROUP: usize = 16;
/// The largest integer of an activation.
const LARGEST: f32 = 32_767.0;

/// The product of a row of blocks with activations.
pub type Dot = fn(&[u8], &[Block]) -> f32;

/// Activations of a block: activation i = `scale` · `values[i]`.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// The activations of two groups of weights.
    pub values: [[i16; GROUP]; 2],
    /// The scale.
    pub scale: f32,
    /// The sums of the activations of the groups.
    pub sums: [f32; 2],
}

impl Block {
    /// Rounds activations.
    pub fn new(x: &[f32; BLOCK]) -> Self {
        let largest = x.iter().fold(0.0, |most: f32, value| most.max(value.abs()));
        // Values that are not finite propagate, as in f32.
        let is_finite = x.iter().all(|value| value.is_finite());
        let scale = if is_finite { largest / LARGEST } else { f32::NAN };
        let inverse = if largest > 0.0 { LARGEST / largest } else { 0.0 };
        let mut values = [[0; GROUP]; 2];
        for (value, x) in values.as_flattened_mut().iter_mut().zip(x) {
            *value = (x * inverse).round_ties_even() as i16;
        }
        let sum = |group: &[i16; GROUP]| group.iter().map(|&value| i32::from(value)).sum::<i32>() as f32 * scale;
        Self { values, scale, sums: [sum(&values[0]), sum(&values[1])] }
    }
}

/// A product as it grows.
pub(super) struct Sum {
    products: F32x4,
    minima: f32,
}

impl Sum {
    #[inline(always)]
    pub fn zero() -> Self {
        Self { products: F32x4::zero(), minima: 0.0 }
    }

    /// Adds `scale · products`.
    #[inline(always)]
    pub fn add(&mut self, products: I32x4, scale: f32) {
        self.products = self.products.add_scaled(products, scale);
    }

    /// Takes off the minimum of weights whose activations have this sum.
    #[inline(always)]
    pub fn take(&mut self, minimum: f32, sum: f32) {
        self.minima += minimum * sum;
    }

    #[inline(always)]
    pub fn total(self) -> f32 {
        let [a, b, c, d] = self.products.to_array();
        (a + b) + (c + d) - self.minima
    }
}

/// Weights that share a scale and a minimum: weight = scale · (quant − zero) − minimum.
pub(super) struct Scaled<Q> {
    pub quants: Q,
    pub zero: f32,
    pub scale: f32,
    pub minimum: f32,
}

impl<Q> Scaled<Q> {
    /// The minimum where the zero is one of quants.
    #[inline(always)]
    fn whole_minimum(&self) -> f32 {
        self.zero * self.scale + self.minimum
    }
}

/// Blocks of `B` bytes with `P` parts of 32 weights.
pub(super) trait By32<const B: usize, const P: usize> {
    /// Unpacks a part of a block.
    fn part(block: &[u8; B], index: usize) -> Scaled<[Bytes; 2]>;
}

/// Super-blocks of `B` bytes with sixteen groups of 16 weights.
pub(super) trait By16<const B: usize> {
    /// Unpacks a group of a super-block.
    fn part(block: &[u8; B], index: usize) -> Scaled<Bytes>;
}

/// The product of a row with activations.
pub(super) fn dot_by_32<const B: usize, const P: usize, T: By32<B, P>>(bytes: &[u8], x: &[Block]) -> f32 {
    let mut sum = Sum::zero();
    for (block, x) in bytes.as_chunks::<B>().0.iter().zip(x.as_chunks::<P>().0) {
        for (index, x) in x.iter().enumerate() {
            let part = T::part(block, index);
            let [first, second] = part.quants;
            let products = second.products(&x.values[1], first.products(&x.values[0], I32x4::zero()));
            sum.add(products, part.scale * x.scale);
            sum.take(part.whole_minimum(), x.sums[0] + x.sums[1]);
        }
    }
    sum.total()
}

/// The same of super-blocks.
pub(super) fn dot_by_16<const B: usize, T: By16<B>>(bytes: &[u8], x: &[Block]) -> f32 {
    let mut sum = Sum::zero();
    for (block, x) in bytes.as_chunks::<B>().0.iter().zip(x.as_chunks::<8>().0) {
        for index in 0..16 {
            let (x, side) = (&x[index / 2], index % 2);
            let part = T::part(block, index);
            sum.add(part.quants.products(&x.values[side], I32x4::zero()), part.scale * x.scale);
            sum.take(part.whole_minimum(), x.sums[side]);
        }
    }
    sum.total()
}

/// The weights of rows for which [`dot_by_32`] has products.
pub(super) fn weights_by_32<const B: usize, const P: usize, T: By32<B, P>>(bytes: &[u8], out: &mut [f32]) {
    for (block, parts) in bytes.as_chunks::<B>().0.iter().zip(out.as_chunks_mut::<BLOCK>().0.as_chunks_mut::<P>().0) {
        for (index, weights) in parts.iter_mut().enumerate() {
            let Scaled { quants: [first, second], zero, scale, minimum } = T::part(block, index);
            weights[..GROUP].copy_from_slice(&first.scaled(zero, scale, minimum));
            weights[GROUP..].copy_from_slice(&second.scaled(zero, scale, minimum));
        }
    }
}

/// The weights of rows for which [`dot_by_16`] has products.
pub(super) fn weights_by_16<const B: usize, T: By16<B>>(bytes: &[u8], out: &mut [f32]) {
    let groups = out.as_chunks_mut::<GROUP>().0.as_chunks_mut::<16>().0;
    for (block, groups) in bytes.as_chunks::<B>().0.iter().zip(groups) {
        for (index, weights) in groups.iter_mut().enumerate() {
            let Scaled { quants, zero, scale, minimum } = T::part(block, index);
            *weights = quants.scaled(zero, scale, minimum);
        }
    }
}

/// Weights in nibbles, the first sixteen in the low ones.
#[inline(always)]
pub(super) fn nibbles_at(block: &[u8], at: usize) -> [Bytes; 2] {
    let packed = Bytes::new(bytes_at(block, at));
    [packed.field(0, 15), packed.field(4, 15)]
}

/// The 16 bytes from `at` on.
#[inline(always)]
pub(super) fn bytes_at(block: &[u8], at: usize) -> &[u8; 16] {
    block[at..].first_chunk().expect("bytes within the block")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::GgmlType;
    use crate::kernels::mat_vec::reference::{Matrix, mat_vec};

    /// Numbers between -1 and 1, the same in every run.
    fn numbers(count: usize, mut state: u32) -> Vec<f32> {
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    /// A row of any bits, whose scales are of one size.
    fn row(ty: GgmlType, cols: usize) -> Vec<u8> {
        let format = ty.format();
        let bytes = numbers(cols / format.block_len * format.block_bytes, 7);
        let mut bytes: Vec<u8> = bytes.iter().map(|value| (value * 4096.0) as i32 as u8).collect();
        for (index, block) in bytes.chunks_exact_mut(format.block_bytes).enumerate() {
            for field in format.numbers {
                field.set(block, (1.0 + index as f32 % 5.0) / 64.0 / field.times);
            }
        }
        bytes
    }

    fn product(ty: GgmlType, bytes: &[u8], x: &[f32]) -> f32 {
        let blocks: Vec<Block> = x.as_chunks().0.iter().map(Block::new).collect();
        ty.format().dot.unwrap()(bytes, &blocks)
    }

    #[test]
    fn products_are_those_of_f32() {
        let mut tried = 0;
        for ty in GgmlType::ALL.into_iter().filter(|ty| ty.format().dot.is_some()) {
            tried += 1;
            let cols = 512 + ty.block_len();
            let bytes = row(ty, cols);
            let x = numbers(cols, 3);
            let (mut expected, mut weights) = ([0.0], vec![0.0; cols]);
            mat_vec(&Matrix::new(ty, 1, cols, &bytes).unwrap(), &x, &mut expected).unwrap();
            (ty.format().dequantize)(&bytes, &mut weights);
            let terms: f32 = weights.iter().zip(&x).map(|(weight, x)| (weight * x).abs()).sum();
            let found = product(ty, &bytes, &x);
            let off = (found - expected[0]).abs() / terms;
            assert!(terms > 0.01 && off < 3e-6, "{}: {found}, expected {}, off by {off:e}", ty.name(), expected[0]);
        }
        assert_eq!(tried, 8);
    }

    #[test]
    fn what_is_not_finite_stays_so_and_zeros_are_zero() {
        let bytes = row(GgmlType::Q4_0, 64);
        let mut x = vec![0.0; 64];
        assert_eq!(product(GgmlType::Q4_0, &bytes, &x), 0.0);
        for value in [f32::NAN, f32::INFINITY] {
            x[40] = value;
            assert!(product(GgmlType::Q4_0, &bytes, &x).is_nan());
        }
    }
}
