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
    #[inline(never)]
    pub fn rounded(&self, x: &[f32]) -> Vec<Block> {
        let is_rounded = self.dot.is_some() && x.len() == self.matrix.cols;
        let x = if is_rounded { x } else { &[] };
        x.as_chunks::<BLOCK>().0.iter().map(Block::new).collect()
    }

    /// `out[t] = matrix · x[t]`, for these rows of it.
    #[inline(never)]
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
    /// Tokens that are done, and that are at work at once.
    done: usize,
    at_once: usize,
    /// For the tokens at work: x in 16 bits, and the next row of `held`.
    rounded: Vec<Block>,
    next: usize,
    /// Where other threads have the rest of the matrix.
    part: Option<Part<'a>>,
}

impl<'a> Product<'a> {
    pub fn new(held: Held<'a>, x: &'a [f32], out: &'a mut [f32]) -> Self {
        Self { at_once: x.len() / held.matrix.cols, held, x, out, done: 0, rounded: Vec::new(), next: 0, part: None }
    }

    /// The same product, where `held` is the first part of each row of `out` and other threads compute the other parts,
    /// for `at_once` tokens at a time.
    pub fn in_parts(self, part: Part<'a>, at_once: usize) -> Self {
        Self { part: Some(part), at_once, ..self }
    }

    /// Does some of it. Returns whether more is to be done, if only by other threads.
    ///
    /// # Errors
    /// The errors of the threads.
    #[inline(never)]
    pub fn step(&mut self) -> Result<bool> {
        let Self { held, done, at_once, rounded, next, part, .. } = self;
        let (rows, cols) = (held.matrix.rows, held.matrix.cols);
        let tokens = (self.x.len() / cols).max(1);
        let (some, count) = ((*at_once).min(tokens - *done), self.out.len() / tokens);
        let x = &self.x[*done * cols..][..some * cols];
        let out = &mut self.out[*done * count..][..some * count];
        if let Some(part) = part
            && !part.begin(x)?
        {
            return Ok(true);
        }
        if *next == 0 {
            *rounded = held.rounded(x);
        }
        if *next < rows {
            let range = *next..rows.min(*next + (STEP / x.len().max(1)).max(1));
            *next = range.end;
            let own = match part {
                Some(part) => part.own(out),
                None => &mut *out,
            };
            held.apply(range, x, rounded, own)?;
            if *next < rows {
                return Ok(true);
            }
        }
        if let Some(part) = part
            && part.is_unfinished(out)?
        {
            return Ok(true);
        }
        *done += some;
        *next = 0;
        Ok(*done < tokens)
    }
}
