//! The rotation of what a matrix multiplies, where the file has the matrix rotated.

use super::program::{Activation, Op};

/// `y = H (s ⊙ x)`: signs of columns, then each run of `block` values times a Walsh–Hadamard matrix (Sylvester 1867),
/// `H[r, c] = (−1)^popcount(r & c) / √block`, which is its own inverse.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rotation {
    /// A power of two.
    pub block: usize,
    /// Values of x that `signs` are for; x has a multiple of them.
    pub width: usize,
    /// A bit for each of `width` values, the first in the lowest of the first word: set where it changes its sign.
    pub signs: Vec<u32>,
    /// `y = s ⊙ H x` in place of that.
    pub is_inverse: bool,
    /// Rows of tokens with ids below this are rotated, others stay as they are; `None`: all rows.
    pub tokens: Option<usize>,
    /// Before the signs, x goes from `[repeats, heads, values]` to `[heads, repeats, values]`, given these three.
    pub regrouped: Option<[usize; 3]>,
}

impl Rotation {
    /// Whether column `col` changes its sign.
    pub fn is_negative(&self, col: usize) -> bool {
        let bit = col % self.width.max(1);
        self.signs.get(bit / 32).is_some_and(|word| word >> (bit % 32) & 1 == 1)
    }

    /// The value of x that column `col` is made of.
    pub fn source(&self, col: usize) -> usize {
        let Some([repeats, heads, values]) = self.regrouped else { return col };
        let (head, repeat) = (col / (values * repeats), col / values % repeats);
        (repeat * heads + head) * values + col % values
    }
}

/// What `x` is before its rotation, at operation `at`: adapters add to a product by that. `x` where it has none.
pub fn unrotated(ops: &[Op], at: usize, x: Activation) -> Activation {
    match ops[..at].iter().rfind(|op| op.writes() == x) {
        Some(Op::Hadamard { x: before, .. }) => *before,
        _ => x,
    }
}
