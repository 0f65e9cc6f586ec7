//! The lists of a model step by step, with the operations that each step stands for and where its results are: what a
//! check compares with another way to compute the same.

use std::ops::Range;

use super::decode::in_a_row;
use super::embedder::Section;
use super::fusion::{Fused, is_dead};
use super::{Forward, Place, Places};
use crate::kernels::spec::{Dispatch, Slice};
use crate::model::program::{Activation, Op, Program};

/// A step of a lowering.
pub struct Traced {
    /// The part of the program that it ends in: 0 the embedding, then the layers, then the head.
    pub part: usize,
    /// Which of the [operations in a row](ops_in_a_row) it stands for.
    pub ops: Range<usize>,
    /// What runs.
    pub dispatches: Vec<Dispatch>,
    /// Where the residual stream is before it.
    pub stream: Slice,
    /// What later operations read of what it writes, and where that is afterwards.
    pub results: Vec<(Activation, Place)>,
}

/// The operations of embedding, layers and head, one after the other.
pub fn ops_in_a_row(program: &Program) -> Vec<Op> {
    in_a_row(program).0
}

impl Forward<'_> {
    /// The steps of [`Forward::prefill`].
    pub fn traced_prefill(&self) -> Vec<Traced> {
        self.traced(self.prefill_sections())
    }

    /// The steps of [`Forward::batch_lists`].
    pub fn traced_batch(&self, most: usize) -> Vec<Traced> {
        self.traced(self.batch_sections(most))
    }

    /// The steps of sections that follow each other from the first operation on.
    fn traced(&self, sections: Vec<Section>) -> Vec<Traced> {
        let ops = in_a_row(self.program).0;
        let mut traced = Vec::new();
        let mut first = 0;
        for Section { part, ops: own, places, steps } in sections {
            let stream = places.of(self.program.residual()).slice;
            for (fused, dispatches) in steps {
                let range = first + fused.start..first + fused.end;
                let results = results(self.program, &ops, &range, places);
                traced.push(Traced { part, stream, results, ops: range, dispatches });
            }
            first += own.len();
        }
        traced
    }

    /// The steps of [`Forward::decode`] with one row.
    pub fn traced_decode(&self) -> Vec<Traced> {
        let (ops, part_of) = in_a_row(self.program);
        let mut traced = Vec::new();
        self.decode_steps(1, &mut |fused: &Fused, [before, places]: [&Places; 2], dispatches| {
            let range = fused.start..fused.end;
            let part = part_of[fused.end - 1];
            let results = results(self.program, &ops, &range, places);
            traced.push(Traced {
                part,
                stream: before.of(self.program.residual()).slice,
                results,
                ops: range,
                dispatches,
            });
        });
        traced
    }
}

fn results(program: &Program, ops: &[Op], range: &Range<usize>, places: &Places) -> Vec<(Activation, Place)> {
    let (own, rest) = (&ops[range.clone()], &ops[range.end..]);
    let is_last = |at: usize, y: Activation| own[at + 1..].iter().all(|op| op.writes() != y);
    let written = own.iter().enumerate().map(|(at, op)| (at, op.writes())).filter(|&(at, y)| is_last(at, y));
    let output = own.last().filter(|_| rest.is_empty()).map(Op::writes);
    let is_given = |y: Activation| output == Some(y) || program.sides.contains(&y);
    let read = written.map(|(_, y)| y).filter(|&y| is_given(y) || !is_dead(y, rest));
    read.map(|y| (y, places.of(y))).collect()
}
