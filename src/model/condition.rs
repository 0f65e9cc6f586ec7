//! Norms that are conditioned on a number of the file (adaptive norms: Perez et al. 2017,
//! <https://arxiv.org/abs/1709.07871>).

use super::ActivationKind;
use super::program::{Activation, Program};
use super::roles::WeightKey;
use crate::kernels::elementwise::reference::activated;

/// What is special in the program of a model that writes while it hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hearing {
    /// Rows of a sound, one for each position, that are added to the residual stream before the first layer; zero
    /// unless they are given with the tokens.
    pub beside: Activation,
    /// The norms whose weights get factors when the model is loaded.
    pub conditions: Vec<Condition>,
}

impl Program {
    /// See [`Hearing::beside`].
    pub fn beside(&self) -> Option<Activation> {
        self.hearing.as_ref().map(|hearing| hearing.beside)
    }

    /// See [`Hearing::conditions`].
    pub fn conditions(&self) -> impl Iterator<Item = &Condition> {
        self.hearing.iter().flat_map(|hearing| &hearing.conditions)
    }
}

/// A norm whose result is multiplied by `1 + up · gelu(down · t)`. As t is constant, its weight gets that factor when
/// the model is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition {
    /// The weight of the norm.
    pub norm: WeightKey,
    /// `[inner, width]` and `[width, inner]`.
    pub by: [WeightKey; 2],
    /// Values of the norm, and between the products.
    pub sizes: [usize; 2],
    /// What t is made of: cosines of this times frequencies that fall from 1 to 1 / 10,000, then sines.
    pub number: u32,
}

impl Condition {
    /// Multiplies the weight of the norm by the factor.
    pub fn apply(&self, [down, up]: [&[f32]; 2], norm: &mut [f32]) {
        let [width, inner] = self.sizes;
        let half = width / 2;
        let angle = |at: usize| f64::from(self.number) * 1e4f64.powf(-(at as f64) / half as f64);
        let (cosines, sines) = ((0..half).map(|at| angle(at).cos()), (0..half).map(|at| angle(at).sin()));
        let t: Vec<f32> = cosines.chain(sines).map(|value| value as f32).collect();
        let dot = |row: &[f32], x: &[f32]| row.iter().zip(x).map(|(a, b)| a * b).sum::<f32>();
        let between = down.chunks_exact(width).map(|row| activated(ActivationKind::GeluErf, dot(row, &t)));
        let between: Vec<f32> = between.collect();
        up.chunks_exact(inner).zip(norm).for_each(|(row, weight)| *weight *= 1.0 + dot(row, &between));
    }
}
