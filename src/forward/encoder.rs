//! The operations of encoders: rows by tables that the caller writes.

use super::plan::Plan;
use super::{Forward, Lowering, Place};
use crate::kernels::attention_batch::{BatchHeads, SourceBuffers, attention_to_source};
use crate::kernels::attention_blocks::{BlockBuffers, attention_blocks};
use crate::kernels::attention_far::{FarBuffers, attention_far};
use crate::kernels::attention_grid::{GridBuffers, attention_grid};
use crate::kernels::attention_near::{NearBuffers, attention_near};
use crate::kernels::conv_grid::conv_grid;
use crate::kernels::elementwise::{self, Arg};
use crate::kernels::join_heads::join_heads;
use crate::kernels::mix::{Mode, Shape, mix, mix_channels, project};
use crate::kernels::pass::Pass;
use crate::kernels::spec::{Dispatch, Slice};
use crate::kernels::turn::turn;
use crate::model::TableWidths;
use crate::model::program::{Activation, CellKind, CellSpec, Combining, Grouping, Op, Operand, Program};

/// What the caller of an encoder writes beside the rows that it reads.
#[derive(Debug, Clone)]
pub struct Tables {
    /// `[rows, taps]` u32 and f32, see [`Op::AddPlaces`] and [`Op::ConvAround`].
    pub places: [Slice; 2],
    /// The same of operations of another number, from 1 on.
    pub later: Vec<[Slice; 2]>,
    /// `[rows, parts, taps]` u32 and f32, see [`Op::Regroup`].
    pub groups: [Slice; 2],
    /// `[rows, pairs, 2]` f32: cosine and sine, see [`Op::Turn`].
    pub turns: Slice,
    /// For each [`Op::Break`]: `[rows]` u32, zeros, and f32.
    pub breaks: Vec<[Slice; 2]>,
    /// A [`Pass`] whose sequences are the parts of an image, and the first row of each part and one past its last; see
    /// [`Sight::Part`].
    pub parts: [Slice; 2],
    /// For each [`Op::Repeat`]: `[rows]` u32, the rows of its table, and f32, ones.
    pub repeats: Vec<[Slice; 2]>,
    /// For each [`Op::Regroup`] of the embedding: a [`Pass`] over the rows before it with the first row and one past
    /// the last, and its groups.
    pub folds: Vec<([Slice; 2], [Slice; 2])>,
}

impl Tables {
    /// Room for the tables of a program over `rows` rows: none, where it reads tokens.
    pub fn of(program: &Program, rows: usize, plan: &mut Plan) -> Self {
        if let Some(Op::Input { .. }) = program.embed.first() {
            return Self::alloc(program, rows, plan);
        }
        let turns = plan.words("no tables", 0);
        let pair = [turns; 2];
        let [later, breaks, repeats] = [vec![], vec![], vec![]];
        Self { places: pair, later, groups: pair, turns, breaks, parts: pair, repeats, folds: vec![] }
    }

    /// Pages that load no encoder have no code for it.
    #[inline(never)]
    fn alloc(program: &Program, rows: usize, plan: &mut Plan) -> Self {
        let TableWidths { places: [places, _], later, groups, turns, breaks, .. } = TableWidths::of(program);
        // Positions and windows may belong to the first rows.
        let first = program.stage_rows.first().copied().unwrap_or(rows);
        let mut pair =
            |name: &str, words: usize| ["rows", "weights"].map(|of| plan.words(format!("{of} of {name}"), words));
        let (places, groups) = (pair("positions", first.max(rows) * places), pair("groups", rows * groups));
        let later = later.iter().filter(|[taps, _]| *taps > 0).map(|[taps, _]| pair("further positions", rows * taps));
        let later = later.collect();
        let breaks = (0..breaks).map(|_| pair("breaks", rows)).collect();
        let repeats = program.repeats().map(|_| pair("repeated rows", rows)).collect();
        let parts = if program.has_parts() { first } else { 0 };
        let pass = plan.alloc("pass of parts", Pass::bytes_of(parts)).into();
        let parts = [pass, plan.words("parts", parts * 2)];
        let behind = program.stage_rows.iter().copied().skip(1).chain([rows]);
        let folds = program.folds().zip(program.stage_rows.iter().zip(behind)).map(|(grouping, (&before, behind))| {
            let taps = behind * grouping.width();
            let pass = plan.alloc("pass of a stage", Pass::bytes_of(before)).into();
            let spans = plan.words("rows before a stage", 2);
            ([pass, spans], ["rows", "weights"].map(|of| plan.words(format!("{of} of a stage"), taps)))
        });
        let folds = folds.collect();
        Self { places, later, groups, turns: plan.words("turns", rows * turns), breaks, repeats, parts, folds }
    }
}

impl Lowering<'_> {
    pub(super) fn copy(&self, x: Activation, y: Activation) -> Dispatch {
        let [of, to] = [x, y].map(|of| self.places.of(of).rows());
        // All of one activation, and nothing of a second one.
        join_heads([1, self.forward.width(x), 0], [of, of, to])
    }

    pub(super) fn combine(&self, x: Activation, kind: Combining, with: Operand) -> Dispatch {
        let steps = |kind| vec![elementwise::Step::new(kind, &[Arg::Input(0), Arg::Input(1)])];
        let combine = match kind {
            Combining::Multiply => steps(elementwise::Op::Mul),
            Combining::Subtract => steps(elementwise::Op::Sub),
            Combining::Add => steps(elementwise::Op::Add),
            Combining::DivideByRoot => vec![
                elementwise::Step::new(elementwise::Op::Rsqrt, &[Arg::Input(1)]),
                elementwise::Step::new(elementwise::Op::Mul, &[Arg::Input(0), Arg::Step(0)]),
            ],
        };
        match with {
            Operand::Rows(other) => self.elementwise(&combine, self.places.of(x), Some(self.places.of(other))),
            Operand::Vector(key) => {
                let other = Place { slice: self.forward.vector(key), offset: 0, stride: 0 };
                self.elementwise_of(&combine, self.places.of(x), (other, 1))
            }
        }
    }

    /// An operation that only encoders have. Pages that load none have no code for it.
    pub(super) fn encoder(&self, op: &Op) -> Dispatch {
        let Forward { program, buffers, .. } = self.forward;
        let slice = |of| self.places.of(of).slice;
        let tables = || buffers.tables.as_ref().expect("an encoder has tables");
        match *op {
            Op::AddPlaces { table, taps, number, to, .. } => {
                let shape = Shape { width: program.width(to), parts: 1, taps, by_value: false, mode: Mode::Add };
                let places = number.checked_sub(1).map_or(tables().places, |later| tables().later[later]);
                mix(shape, places, self.forward.vector(table), slice(to))
            }
            Op::ConvAround { x, kernel, taps, y } => {
                let inputs = [slice(x), self.forward.vector(kernel)];
                mix_channels([program.width(x), taps], tables().places, inputs, slice(y))
            }
            Op::ConvGrid { x, ref spec, y } => self.cells([x, y], spec),
            Op::Break { row, number, to } => {
                let shape = Shape { width: program.width(to), parts: 1, taps: 1, by_value: false, mode: Mode::Replace };
                mix(shape, tables().breaks[number], self.forward.vector(row), slice(to))
            }
            Op::Regroup { x, grouping, kernel: Some(kernel), y } => {
                let inputs = [slice(x), self.forward.vector(kernel)];
                mix_channels([program.width(x), grouping.taps], tables().groups, inputs, slice(y))
            }
            Op::Regroup { x, grouping: Grouping { parts, taps, by_value }, kernel: None, y } => {
                let width = program.width(y) / parts;
                let shape = Shape { width, parts, taps, by_value, mode: Mode::Write };
                mix(shape, tables().groups, slice(x), slice(y))
            }
            Op::Turn { x, head_dim, apart } => {
                let heads = program.width(x) / head_dim;
                turn([heads, head_dim, apart].map(|n| n as u32), tables().turns, self.places.of(x).rows())
            }
            Op::Project { x, weight, y } => {
                let sizes = [x, y].map(|of| program.width(of));
                project(sizes, slice(x), self.forward.vector(weight), slice(y), buffers.dummy)
            }
            Op::Bound { x, least, most } => {
                let bound = [
                    elementwise::Step::new(elementwise::Op::Max, &[Arg::Input(0), Arg::Input(1)]),
                    elementwise::Step::new(elementwise::Op::Min, &[Arg::Step(0), Arg::Input(2)]),
                ];
                let number = |key| (Place { slice: self.forward.vector(key), offset: 0, stride: 0 }, 0);
                let x = self.places.of(x);
                self.elementwise_by(&bound, x, vec![(x, 1), number(least), number(most)])
            }
            _ => self.attend_by_distance(op),
        }
    }

    /// Cells of a grid from cells of another one.
    #[inline(never)]
    fn cells(&self, [x, y]: [Activation; 2], spec: &CellSpec) -> Dispatch {
        let dummy = self.forward.buffers.dummy;
        let weights = match spec.kind {
            CellKind::Depthwise(kernel) | CellKind::Dense(kernel, None) => [self.forward.vector(kernel), dummy],
            CellKind::Dense(kernel, Some(bias)) => [kernel, bias.key].map(|key| self.forward.vector(key)),
            CellKind::Beside | CellKind::Mean => [dummy; 2],
        };
        let [x, y] = [x, y].map(|of| self.places.of(of));
        debug_assert!(x.offset == 0 && y.offset == 0, "whole rows");
        conv_grid(spec, x.slice, weights, y.slice)
    }

    /// Attention with an embedding of the distance.
    fn attend_by_distance(&self, op: &Op) -> Dispatch {
        let slice = |of| self.places.of(of).slice;
        let rows = |of| self.places.of(of).rows();
        match *op {
            Op::AttendNear { q, kv: [k, v], far, weights, near, y } => {
                let buffers = NearBuffers {
                    qkv: [q, k, v].map(rows),
                    far: rows(far),
                    weights: weights.map(|key| key.map(|key| self.forward.vector(key))),
                    y: slice(y),
                };
                attention_near(near, buffers, self.forward.buffers.dummy)
            }
            Op::AttendFar { q, kv: [k, v], far, biases, spec, y } => {
                let biases = biases.map(|key| self.forward.vector(key));
                attention_far(spec, FarBuffers { qkv: [q, k, v].map(rows), far: far.map(rows), biases, y: slice(y) })
            }
            Op::AttendBlocks { q, kv: [k, v], with: weights, spec, y } => {
                let Forward { buffers, .. } = self.forward;
                let buffers = BlockBuffers {
                    qkv: [q, k, v].map(rows),
                    spans: if spec.filled { buffers.inputs.spans } else { buffers.dummy },
                    weights: weights.map(|key| key.map_or(buffers.dummy, |key| self.forward.vector(key))),
                    y: slice(y),
                };
                attention_blocks(spec, buffers)
            }
            Op::AttendGrid { q, kv: [k, v], far, fill, spec, y } => {
                let [far, fill] = [far, fill].map(|two| two.map(|key| self.forward.vector(key)));
                attention_grid(spec, GridBuffers { qkv: [q, k, v].map(rows), far, fill, y: slice(y) })
            }
            _ => self.of_queries(op),
        }
    }

    /// Rows that stand for no patch, and what they attend to.
    fn of_queries(&self, op: &Op) -> Dispatch {
        let Forward { program, buffers, .. } = self.forward;
        let slice = |of| self.places.of(of).slice;
        let tables = || buffers.tables.as_ref().expect("an encoder has tables");
        match *op {
            Op::Repeat { table, y, .. } => {
                let shape = Shape { width: program.width(y), parts: 1, taps: 1, by_value: false, mode: Mode::Write };
                let number = program.repeats().position(|of| of == op).unwrap_or_default();
                mix(shape, tables().repeats[number], self.forward.vector(table), slice(y))
            }
            Op::AttendRows { q, kv, ref attention, y } => {
                let (pass, spans) = (buffers.pass, buffers.inputs.spans);
                let places = [q, kv[0], kv[1], y].map(|of| self.places.of(of));
                debug_assert!(places.iter().all(|of| of.offset == 0 && of.stride == places[0].stride), "whole rows");
                let [heads, kv_heads, head_dim] =
                    [attention.heads, attention.kv_heads, attention.head_dim].map(|count| count as u32);
                let buffers = SourceBuffers { pass, spans, q: slice(q), kv: kv.map(slice), y: slice(y) };
                attention_to_source(self.rows, BatchHeads { heads, kv_heads, head_dim }, attention.scale, buffers)
            }
            _ => unreachable!("an operation that others have, too"),
        }
    }
}
