//! Rotary position embedding (Su et al. 2021, <https://arxiv.org/abs/2104.09864>) for tensors: `rope_table` computes
//! cosines and sines, `rope` rotates pairs by such a table or computes its rotations itself.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;
pub mod reference_table;

use super::spec::{Dispatch, Kernel, KernelSpec, PARAMS, Slice, bool_override, grid_1d, params, read, write};

/// Threads of a workgroup of either kernel.
const WG_SIZE: u32 = 64;

params! {
    /// Sizes of a table.
    pub struct TableParams {
        /// Rows.
        pub positions: u32,
        /// Columns.
        pub pairs: u32,
        /// Position of row 0.
        pub first: u32,
        /// Factor of cosines and sines.
        pub factor: f32,
    }
}

params! {
    /// Sizes and strides of a rotation.
    pub struct RopeParams {
        /// Heads of all tokens of the batch.
        pub rows: u32,
        /// Values per row.
        pub head_dim: u32,
        /// Pairs that are rotated: at most `head_dim / 2`.
        pub pairs: u32,
        /// Tokens of a sequence.
        pub tokens: u32,
        /// Rows from a token to the next: 1 in [batch, head, token, dim], the heads in [batch, token, head, dim].
        pub stride: u32,
        /// Position of the first token.
        pub position: u32,
        /// Factor of cosines and sines; a table has it already.
        pub factor: f32,
    }
}

/// The contract with `shaders/tensor/rope_table.wgsl`.
pub static TABLE: KernelSpec = KernelSpec {
    kernel_name: "rope_table",
    bindings: &[PARAMS, read("turns"), write("table")],
    params: TableParams::LAYOUT,
    overrides: &["WG_SIZE"],
};

/// The contract with `shaders/tensor/rope.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "rope",
    bindings: &[PARAMS, read("x"), read("turns"), write("y")],
    params: RopeParams::LAYOUT,
    overrides: &["WG_SIZE", "SPLIT_HALF"],
};

/// YaRN (Peng et al. 2023, <https://arxiv.org/abs/2309.00071>): slow pairs are interpolated, fast ones are not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Yarn {
    /// By how much the context is longer than the trained one.
    pub factor: f64,
    /// The trained context.
    pub original_context: f64,
    /// Pairs with at least this many rotations over the trained context keep their frequency.
    pub beta_fast: f64,
    /// Pairs with at most this many rotations are interpolated; between the two, a linear ramp over the pairs.
    pub beta_slow: f64,
}

impl Yarn {
    /// Factor of cosines and sines, so that scores grow with the context: `0.1 ln factor + 1`.
    pub fn attention_factor(&self) -> f64 {
        if self.factor > 1.0 { 0.1 * self.factor.ln() + 1.0 } else { 1.0 }
    }

    /// How far a pair is interpolated, 0 to 1. The ramp's ends are rounded to whole pairs, as in the models' training.
    fn interpolation(&self, pair: u32, dims: u32, base: f64) -> f64 {
        let dims = f64::from(dims);
        // The pair, as a fraction, that has `rotations` rotations over the trained context.
        let pair_of = |rotations: f64| {
            dims * (self.original_context / (rotations * std::f64::consts::TAU)).ln() / (2.0 * base.ln())
        };
        let low = pair_of(self.beta_fast).floor().max(0.0);
        let high = pair_of(self.beta_slow).ceil().min(dims - 1.0);
        ((f64::from(pair) - low) / (high - low).max(0.001)).clamp(0.0, 1.0)
    }
}

/// The rotary frequencies of a head's pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frequencies<'a> {
    /// Dimensions that are rotated; even.
    pub dims: u32,
    /// The frequency of pair i is `base^(-2i/dims)` radians per position.
    pub base: f64,
    /// Linear scaling of positions: 1 / factor.
    pub scale: f64,
    /// Divisors of the pairs' frequencies.
    pub factors: Option<&'a [f32]>,
    /// Scaling that differs by frequency.
    pub yarn: Option<Yarn>,
}

impl Frequencies<'_> {
    /// Radians per position of a pair.
    fn radians(&self, pair: u32) -> f64 {
        let factor = self.factors.and_then(|f| f.get(pair as usize)).map_or(1.0, |&f| f64::from(f));
        let frequency = self.base.powf(-2.0 * f64::from(pair) / f64::from(self.dims)) * self.scale / factor;
        match &self.yarn {
            Some(yarn) => {
                let share = yarn.interpolation(pair, self.dims, self.base);
                frequency * (share / yarn.factor + 1.0 - share)
            }
            None => frequency,
        }
    }

    /// Turns per position of every pair, in 64-bit fixed point, high word first: the wrapped product with a position
    /// drops whole turns only.
    pub fn turns(&self) -> Vec<[u32; 2]> {
        let fixed = |pair| {
            let turns = (self.radians(pair) / std::f64::consts::TAU).fract() * 2f64.powi(32);
            [turns as u32, (turns.fract() * 2f64.powi(32)) as u32]
        };
        (0..self.dims / 2).map(fixed).collect()
    }
}

/// Cosines and sines for `params.positions` × `params.pairs`: turns `[pairs]` ([`Frequencies::turns`]) → table
/// `[positions, pairs, 2]` f32, cosine first.
pub fn rope_table(params: &TableParams, turns: Slice, table: Slice) -> Dispatch {
    let kernel = Kernel::new(&TABLE, &[("WG_SIZE", WG_SIZE.into())]);
    let grid = grid_1d((params.positions * params.pairs).div_ceil(WG_SIZE));
    Dispatch::new(kernel, params, &[turns, table], grid)
}

/// Where [`rope`] takes its rotations from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rotations {
    /// A table of [`rope_table`]; row 0 is position 0.
    Table(Slice),
    /// Turns per position of each pair, [`Frequencies::turns`].
    Computed(Slice),
}

/// Rotates the first `2 · pairs` values of every row of x `[rows, head_dim]` f32 and copies the rest to y. Pairs are
/// (i, i + pairs) with `split_half`, else (2i, 2i + 1).
pub fn rope(params: &RopeParams, split_half: bool, x: Slice, rotations: Rotations, y: Slice) -> Dispatch {
    let constants = [("WG_SIZE", WG_SIZE.into()), ("SPLIT_HALF", bool_override(split_half))];
    let kernel = Kernel::new(&SPEC, &constants);
    let (kernel, turns) = match rotations {
        Rotations::Table(table) => (kernel.named("table").import("rotations", "rotations_table"), table),
        Rotations::Computed(turns) => (kernel.named("computed").import("rotations", "rotations_computed"), turns),
    };
    let threads = params.rows * (params.head_dim - params.pairs);
    Dispatch::new(kernel, params, &[x, turns, y], grid_1d(threads.div_ceil(WG_SIZE)))
}

#[cfg(test)]
mod tests {
    use super::{Frequencies, Yarn};

    const YARN: Yarn = Yarn { factor: 4.0, original_context: 2048.0, beta_fast: 32.0, beta_slow: 1.0 };

    #[test]
    fn yarn_leaves_fast_pairs_and_slows_slow_ones() {
        let plain = Frequencies { dims: 128, base: 10_000.0, scale: 1.0, factors: None, yarn: None };
        let yarn = Frequencies { yarn: Some(YARN), ..plain };
        // 128 · ln(2048 / 64π) / (2 ln 10⁴) = 16.1 and 128 · ln(2048 / 2π) / (2 ln 10⁴) = 40.2.
        for pair in 0..=16 {
            assert_eq!(yarn.radians(pair), plain.radians(pair));
        }
        for pair in 41..64 {
            assert_eq!(yarn.radians(pair), plain.radians(pair) / 4.0);
        }
        // A fifth of the way from 16 to 41.
        let mixed = plain.radians(21) * (0.2 / 4.0 + 0.8);
        assert!((yarn.radians(21) / mixed - 1.0).abs() < 1e-15);
        assert!((YARN.attention_factor() - 1.138_629_436).abs() < 1e-9);
    }
}
