//! Products of matrices with the activations of some tokens, in steps.

use std::ops::Range;

use crate::cpu::threads::Part;
use crate::error::Result;
use crate::formats::integers::{BLOCK, Block, Dot};
use crate::kernels::mat_mul::reference::mat_mul_rows;
use crate::kernels::mat_vec::reference::{Matrix, mat_vec};

/// Multiply-adds of a step: a millisecond or two, ten on a slow phone.
const STEP: usize = 4 << 20;

/// Rows of a matrix.
#[derive(Clone, Copy)]
pub(super) struct Held<'a> {
    pub matrix: Matrix<'a>,
    /// Products with activations of 16 bits, where they are to be fast.
    pub dot: Option<Dot>,
}

impl Held<'_> {
    /// x in 16 bits, where it is to be rounded. Products of several tokens are as fast in f32, since a weight is
    /// unpacked once for all of them.
    pub fn rounded(&self, x: &[f32]) -> Vec<Block> {
        let is_rounded = self.dot.is_some() && x.len() == self.matrix.cols;
        let x = if is_rounded { x } else { &[] };
        x.as_chunks::<BLOCK>().0.iter().map(Block::new).collect()
    }

    /// `out[t] = matrix · x[t]`, for these rows of it.
    pub fn apply(&self, rows: Range<usize>, x: &[f32], rounded: &[Block], out: &mut [f32]) -> Result<()> {
        let matrix = &self.matrix;
        match self.dot {
            Some(dot) if !rounded.is_empty() => rows.for_each(|row| out[row] = dot(matrix.row(row), rounded)),
            _ if x.len() == matrix.cols => mat_vec(&matrix.rows(rows.clone()), x, &mut out[rows])?,
            _ => mat_mul_rows(matrix, rows, x, out)?,
        }
        Ok(())
    }
}

/// `out[t] = matrix · x[t]`, some rows in each step.
pub(super) struct Product<'a> {
    held: Held<'a>,
    x: &'a [f32],
    out: &'a mut [f32],
    rounded: Vec<Block>,
    /// The row of `held` that comes next.
    next: usize,
    /// Where other threads have the rest of the matrix.
    part: Option<Part<'a>>,
}

impl<'a> Product<'a> {
    pub fn new(held: Held<'a>, x: &'a [f32], out: &'a mut [f32]) -> Self {
        Self { rounded: held.rounded(x), held, x, out, next: 0, part: None }
    }

    /// The same where `held` is the first part of each row of `out`, and other threads make the rest.
    pub fn in_parts(self, part: Part<'a>) -> Self {
        Self { part: Some(part), ..self }
    }

    /// Does some of it. Returns whether more is to be done, if only by other threads.
    ///
    /// # Errors
    /// Those of the threads.
    pub fn step(&mut self) -> Result<bool> {
        let Self { held, x, out, rounded, next, part } = self;
        let rows = held.matrix.rows;
        if let Some(part) = part
            && !part.has_begun(x)?
        {
            return Ok(true);
        }
        if *next < rows {
            let some = *next..rows.min(*next + (STEP / x.len()).max(1));
            *next = some.end;
            match part {
                Some(part) => held.apply(some, x, rounded, part.own(out))?,
                None => held.apply(some, x, rounded, out)?,
            }
            if *next < rows {
                return Ok(true);
            }
        }
        match part {
            Some(part) => part.is_unfinished(out),
            None => Ok(false),
        }
    }
}
