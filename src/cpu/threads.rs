//! Threads that share the products of a model on the CPU. Each has some rows of every large matrix, and multiplies them
//! while the others multiply theirs; everything else is done by the thread that runs the model.
//!
//! The rows of a matrix are in groups, those of an expert or a head; a product is that of one group. Thread 0 is the
//! one that runs the model.

use std::cell::Cell;
use std::fmt::Debug;
use std::ops::Range;
use std::rc::Rc;

use crate::cpu::product::{Held, Product};
use crate::error::{Error, Result};
use crate::gguf::GgmlType;
use crate::kernels::mat_vec::reference::Matrix;
use crate::model::WeightKey;
use crate::model::program::{GateUp, Op, Program};

/// Weights of a group below which a matrix stays with thread 0: its product takes no longer than telling others.
const LEAST: usize = 1 << 15;

/// Threads besides the one that runs the model.
pub trait Threads: Debug {
    /// Their number.
    fn count(&self) -> usize;

    /// The most values that x or a product may have.
    fn room(&self) -> usize;

    /// Gives thread `thread`, 1 or more, its rows of the next matrix; the numbers of matrices count up from 0.
    fn put(&self, thread: usize, shape: Shape, bytes: &[u8]);

    /// Begins to multiply group `group` of a matrix in all threads: x is `[tokens, cols]`.
    fn begin(&self, number: u32, group: usize, x: &[f32]);

    /// Whether all threads are done with what was begun last.
    ///
    /// # Errors
    /// `internal` where a thread has failed.
    fn is_done(&self) -> Result<bool>;

    /// Copies what the threads found to its places in `out`, `[tokens, rows]`: the rows from `own` on.
    fn take(&self, own: usize, rows: usize, out: &mut [f32]);
}

/// Rows of a matrix that a thread has: as many of each group, whose blocks follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// The type of the weights.
    pub ty: GgmlType,
    /// Number of groups.
    pub groups: usize,
    /// Rows of a group that this thread has.
    pub rows: usize,
    /// Rows of a group that all threads have together.
    pub group_rows: usize,
    /// Which of them is the first of this thread.
    pub first: usize,
    /// Weights of a row.
    pub cols: usize,
    /// Whether products of one token round activations to 16 bits.
    pub rounds: bool,
}

/// All threads of a model.
#[derive(Debug)]
pub struct Team {
    threads: Box<dyn Threads>,
    /// Number of the next matrix.
    next: Cell<u32>,
    /// Weights of a group below which a matrix stays with thread 0.
    least: usize,
}

impl Team {
    /// A team of these threads and the one that runs the model.
    pub fn new(threads: Box<dyn Threads>) -> Rc<Self> {
        Self::sharing_from(threads, LEAST)
    }

    /// The same where matrices with groups of `least` weights or more are shared.
    pub fn sharing_from(threads: Box<dyn Threads>, least: usize) -> Rc<Self> {
        Rc::new(Self { threads, next: Cell::new(0), least })
    }

    /// The rows of a group that a thread computes.
    fn part(&self, rows: usize, thread: usize) -> Range<usize> {
        let threads = self.threads.count() + 1;
        rows * thread / threads..rows * (thread + 1) / threads
    }

    /// Distributes a matrix of `groups` groups to the threads. Returns the part of thread 0, which has all rows where
    /// the matrix `is_whole`. `None` where it is too small, or too large.
    pub(super) fn share(
        self: &Rc<Self>,
        (ty, [rows, cols]): (GgmlType, [usize; 2]),
        &Shareable { groups, is_whole, .. }: &Shareable,
        rounds: bool,
        bytes: &mut Vec<u8>,
    ) -> Option<Shared> {
        let group = rows.checked_div(groups).unwrap_or(0);
        let fits = group * groups == rows && group.max(cols) <= self.threads.room();
        if !fits || group * cols < self.least || group <= self.threads.count() {
            return None;
        }
        let row = bytes.len() / rows;
        let of = |thread: usize| -> Vec<u8> {
            let part = self.part(group, thread);
            let groups = (0..groups).map(|at| at * group);
            groups.flat_map(|at| &bytes[(at + part.start) * row..(at + part.end) * row]).copied().collect()
        };
        let number = self.next.replace(self.next.get() + 1);
        for thread in 1..=self.threads.count() {
            let part = self.part(group, thread);
            let shape = Shape { ty, groups, rows: part.len(), group_rows: group, first: part.start, cols, rounds };
            self.threads.put(thread, shape, &of(thread));
        }
        if !is_whole {
            *bytes = of(0);
        }
        Some(Shared { team: self.clone(), number, is_whole })
    }
}

/// A matrix whose rows several threads have.
#[derive(Debug)]
pub(super) struct Shared {
    team: Rc<Team>,
    number: u32,
    /// Whether thread 0 has all rows.
    is_whole: bool,
}

impl Shared {
    /// `out[t] = matrix[rows] · x[t]`, for the rows of one group. `held` is what thread 0 has.
    pub fn product<'a>(&'a self, held: Held<'a>, rows: Range<usize>, x: &'a [f32], out: &'a mut [f32]) -> Product<'a> {
        let threads = &*self.team.threads;
        let (count, cols) = (rows.len(), held.matrix.cols);
        // Tokens that there is room for, in parts of much the same size, so that none has a single token: its x would
        // be rounded.
        let (tokens, most) = (x.len() / cols, threads.room() / count.max(cols));
        let at_once = tokens.div_ceil(tokens.div_ceil(most));
        let (own, group) = (self.team.part(count, 0).end, rows.start / count);
        let first = if self.is_whole { rows.start } else { group * own };
        let matrix = held.matrix.rows(first..first + own);
        // A product of one token is written in place.
        let found = if at_once > 1 { vec![0.0; at_once * own] } else { Vec::new() };
        let part = Part { threads, number: self.number, group, own, count, has_begun: false, found };
        Product::new(Held { matrix, ..held }, x, out).in_parts(part, at_once)
    }
}

/// A product that other threads have a part in.
pub(super) struct Part<'a> {
    threads: &'a dyn Threads,
    number: u32,
    group: usize,
    /// Rows of thread 0, and of all.
    own: usize,
    count: usize,
    has_begun: bool,
    /// The rows of thread 0, `[tokens, own]`, of several tokens.
    found: Vec<f32>,
}

impl Part<'_> {
    /// Lets the threads begin. Returns false while they are still at a product of a run that was given up.
    pub fn begin(&mut self, x: &[f32]) -> Result<bool> {
        if !self.has_begun && self.threads.is_done()? {
            self.threads.begin(self.number, self.group, x);
            self.has_begun = true;
        }
        Ok(self.has_begun)
    }

    /// Where the rows of thread 0 belong, which `out` begins with if it is of one token.
    pub fn own<'o>(&'o mut self, out: &'o mut [f32]) -> &'o mut [f32] {
        let values = out.len() / self.count * self.own;
        if self.found.is_empty() { &mut out[..values] } else { &mut self.found[..values] }
    }

    /// Whether other threads are at work. Once they are not, `out` has all rows.
    pub fn is_unfinished(&mut self, out: &mut [f32]) -> Result<bool> {
        if !self.threads.is_done()? {
            return Ok(true);
        }
        let rows = out.chunks_exact_mut(self.count).zip(self.found.chunks_exact(self.own));
        rows.for_each(|(out, found)| out[..self.own].copy_from_slice(found));
        self.threads.take(self.own, self.count, out);
        self.has_begun = false;
        Ok(false)
    }
}

/// A matrix that may be shared.
#[derive(Debug)]
pub(super) struct Shareable {
    pub key: WeightKey,
    /// Number of groups of its rows; 0 where they are not always the same, so that it stays with thread 0.
    groups: usize,
    /// Whether thread 0 needs all rows, since something else reads them, too.
    is_whole: bool,
}

/// The matrices of a program that may be shared.
pub(super) fn shareable(program: &Program) -> Vec<Shareable> {
    let ops = || program.ops();
    let mut found: Vec<Shareable> = Vec::new();
    let mut add = |key: WeightKey, groups: usize| match found.iter_mut().find(|of| of.key == key) {
        Some(of) if of.groups != groups => of.groups = 0,
        Some(_) => {}
        None => found.push(Shareable { key, groups, is_whole: false }),
    };
    for op in ops() {
        match *op {
            Op::Linear { weight, .. } => add(weight, 1),
            Op::HeadLinear { weight, heads, .. } => add(weight, heads),
            Op::ExpertDown { weight, experts, .. } => add(weight, experts.count),
            Op::ExpertGate { ref gate_up, experts, .. } => match *gate_up {
                GateUp::Alone(key) | GateUp::Fused(key) => add(key, experts.count),
                GateUp::Pair { weights, .. } => weights.into_iter().for_each(|key| add(key, experts.count)),
            },
            _ => {}
        }
    }
    for op in ops() {
        if let Op::Embed { table, .. } | Op::EmbedPlace { table, .. } = op {
            found.iter_mut().filter(|of| of.key == *table).for_each(|of| of.is_whole = true);
        }
    }
    found
}

/// The part of a model that a thread other than the first holds.
#[derive(Debug, Default)]
pub struct Thread {
    /// By number.
    matrices: Vec<(Shape, Vec<u8>)>,
}

impl Thread {
    /// Keeps rows of the next matrix.
    ///
    /// # Errors
    /// `bad_file` where the bytes do not fit the shape.
    pub fn put(&mut self, shape: Shape, bytes: Vec<u8>) -> Result<()> {
        Matrix::new(shape.ty, shape.groups * shape.rows, shape.cols, &bytes)?;
        self.matrices.push((shape, bytes));
        Ok(())
    }

    /// This thread's rows of group `group` of a matrix, times x: `[tokens, rows]`.
    ///
    /// # Errors
    /// `invalid_argument` for a matrix that was not put.
    pub fn multiply(&self, number: u32, group: usize, x: &[f32]) -> Result<Vec<f32>> {
        let Some(&(Shape { ty, groups, rows, cols, rounds, .. }, ref bytes)) = self.matrices.get(number as usize)
        else {
            return Err(Error::invalid_argument(format!("matrix {number} was not put")));
        };
        let mut out = vec![0.0; x.len() / cols * rows];
        let matrix = Matrix { ty, rows: groups * rows, cols, bytes }.rows(group * rows..(group + 1) * rows);
        let held = Held { matrix, dot: ty.format().dot.filter(|_| rounds) };
        held.apply(0..rows, x, &held.rounded(x), &mut out)?;
        Ok(out)
    }
}
