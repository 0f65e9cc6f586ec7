//! Adapters in the lists of a model: which products they change, and the steps behind these.
//!
//! A program with adapters has an [`Op::Adapt`] behind each run of products of one activation that they touch. It
//! reads what the products read and adds to what they wrote, so no rule fuses what it needs to see. Activations lie
//! where they lie without adapters: nothing is written between a product and what is added to it.
//!
//! Decode of one row with one adapter goes by the program without these steps: there the products add `B · t` to their
//! own sums, and only `A · x` is a dispatch before them.

use std::rc::Rc;

use super::Lowering;
use super::expert_adapters::push_experts;
use super::fusion::is_dead;
use crate::kernels::lora::{self, Lora, OfRows, RowOfA, Segment, Terms};
use crate::kernels::norm::Rows;
use crate::kernels::spec::{Dispatch, Slice};
use crate::model::program::{Activation, Op, Program};
use crate::model::{Adapter, WeightKey, direction_key, unrotated};

/// What an adapter has for the products of one activation, or for a table.
#[derive(Debug, Clone, PartialEq)]
pub struct AdapterGroup {
    /// The first weight of the run of products, or the table; of a direction see [`direction_key`].
    pub of: WeightKey,
    /// `[ranks, cols]`, or of a table `[its rows, ranks]`; empty of a direction, which is the only B.
    pub a: Vec<f32>,
    /// The values of all B.
    pub b: Vec<f32>,
    /// Where these are, and where their results go.
    pub plan: Vec<Segment>,
    /// Ranks of all products; 0 of a direction.
    pub ranks: u32,
}

/// The groups of an adapter.
pub fn adapter_groups(program: &Program, adapter: &Adapter) -> Vec<AdapterGroup> {
    let mut groups: Vec<AdapterGroup> = Vec::new();
    for run in runs(program) {
        // Layers may run again.
        if !groups.iter().any(|group| group.of == run[0].0) {
            groups.extend(Some(group(&run, adapter)).filter(|group| !group.plan.is_empty()));
        }
    }
    for (layer, direction) in &adapter.directions {
        let plan = vec![Segment { output: 0, outputs: direction.len() as u32, first: 0, rank: 1, at: 0 }];
        let (of, b) = (direction_key(*layer), direction.clone());
        groups.push(AdapterGroup { of, a: Vec::new(), b, plan, ranks: 0 });
    }
    groups
}

/// Weight and width of the products of each run, and of each table alone.
fn runs(program: &Program) -> Vec<Vec<(WeightKey, usize)>> {
    let mut found = Vec::new();
    for ops in program.parts() {
        let mut at = 0;
        while at < ops.len() {
            let run = run_at(&ops[at..]);
            at += run.len();
            let mut products = Vec::new();
            for op in run {
                match *op {
                    Op::Linear { weight: key, y, .. } | Op::Embed { table: key, y, .. } => {
                        products.push((key, program.width(y)));
                    }
                    ref other => push_experts(program, other, &mut products),
                }
            }
            if !products.is_empty() {
                found.push(products);
            }
        }
    }
    found
}

/// The products of one activation that operations start with, or one operation.
fn run_at(ops: &[Op]) -> &[Op] {
    let count = match ops[0] {
        Op::Linear { x: input, .. } => {
            ops.iter().take_while(|op| matches!(op, Op::Linear { x, .. } if *x == input)).count()
        }
        _ => 1,
    };
    &ops[..count]
}

fn group(run: &[(WeightKey, usize)], adapter: &Adapter) -> AdapterGroup {
    let mut made = AdapterGroup { of: run[0].0, a: Vec::new(), b: Vec::new(), plan: Vec::new(), ranks: 0 };
    let mut shared: Vec<(&Rc<Vec<f32>>, u32)> = Vec::new();
    let mut output = 0;
    for (key, width) in run {
        if let Some(pair) = adapter.pair(*key) {
            let first = match shared.iter().find(|(a, _)| Rc::ptr_eq(a, &pair.a)) {
                Some((_, first)) => *first,
                None => {
                    let first = made.ranks;
                    shared.push((&pair.a, first));
                    made.a.extend(pair.a.iter());
                    made.ranks += pair.rank as u32;
                    first
                }
            };
            let (outputs, rank, at) = (*width as u32, pair.rank as u32, made.b.len() as u32);
            made.plan.push(Segment { output, outputs, first, rank, at });
            made.b.extend(&pair.b);
        }
        output += *width as u32;
    }
    made
}

/// The program with an [`Op::Adapt`] for each of these groups, by their first weights; for directions behind layers.
pub fn adapted(program: &Program, groups: &[WeightKey]) -> Program {
    let lasting = program.lasting();
    let part = |ops: &[Op]| {
        let mut made = Vec::new();
        let mut at = 0;
        while at < ops.len() {
            let run = run_at(&ops[at..]);
            made.extend_from_slice(run);
            at += run.len();
            let (x, of, factor) = match run.first() {
                Some(Op::Linear { x, weight, .. }) => (Some(unrotated(ops, at - run.len(), *x)), *weight, 1.0),
                Some(Op::Embed { table, scale, .. }) => (None, *table, *scale),
                _ => continue,
            };
            if !groups.contains(&of) {
                continue;
            }
            let ys: Vec<Activation> = run.iter().map(Op::writes).collect();
            // A sum that a product ends with stays part of it.
            match (ops.get(at), ys.as_slice()) {
                (Some(add @ &Op::Add { x: added, scale, to }), &[y])
                    if added == y
                        && to != y
                        && Some(to) != x
                        && !lasting.contains(&y)
                        && is_dead(y, &ops[at + 1..]) =>
                {
                    made.push(add.clone());
                    made.push(Op::Adapt { x, of, ys: vec![to], factor: factor * scale });
                    at += 1;
                }
                _ => made.push(Op::Adapt { x, of, ys, factor }),
            }
        }
        made
    };
    let layer = |(layer, ops): (usize, &Vec<Op>)| {
        let (mut made, of) = (part(ops), direction_key(layer));
        if groups.contains(&of) {
            made.push(Op::Adapt { x: None, of, ys: vec![program.residual()], factor: 1.0 });
        }
        made
    };
    Program {
        embed: part(&program.embed),
        layers: program.layers.iter().enumerate().map(layer).collect(),
        head: part(&program.head),
        ..program.clone()
    }
}

/// Where a group lies on the device.
#[derive(Debug, Clone)]
pub struct GroupPlace {
    /// `A` ...
    pub a: Slice,
    /// ... `B` ...
    pub b: Slice,
    /// ... and the segments ...
    pub segments: Slice,
    /// ... which are these.
    pub plan: Vec<Segment>,
    /// Ranks of all; 0 of a direction.
    pub ranks: u32,
    /// What the products add themselves in passes of one row, where they can.
    pub terms: Option<Terms>,
}

/// Where an adapter lies on the device.
#[derive(Debug, Clone, Default)]
pub struct AdapterPlaces {
    /// Its scale among those of a sequence.
    pub slot: usize,
    /// With their first weights.
    pub groups: Vec<(WeightKey, GroupPlace)>,
}

impl AdapterPlaces {
    /// That of a run of products, by the first weight.
    pub fn group(&self, of: WeightKey) -> Option<&GroupPlace> {
        self.groups.iter().find(|(key, _)| *key == of).map(|(_, place)| place)
    }
}

/// The adapters of lists.
#[derive(Debug, Clone, Copy)]
pub struct Adapters<'a> {
    /// They are added one after the other.
    pub all: &'a [AdapterPlaces],
    /// `[rows, ranks]` f32, for the largest group; of experts see [`bytes_of_experts`](super::bytes_of_experts).
    pub t: Slice,
    /// The program without the adapters.
    pub base: &'a Program,
}

impl<'a> Adapters<'a> {
    /// The one adapter, if all products can add what it changes to their own sums in passes of one row. Products of
    /// rotated inputs do not have the input that A is multiplied with.
    pub(super) fn in_products(&self) -> Option<&'a AdapterPlaces> {
        match self.all {
            _ if self.base.ops().any(|op| matches!(op, Op::Hadamard { .. })) => None,
            [one] if one.groups.iter().all(|(_, group)| group.terms.is_some()) => Some(one),
            _ => None,
        }
    }
}

impl Lowering<'_> {
    /// The group of a run of products, or of a table, whose terms products add to their own sums.
    pub(super) fn group_in_products(&self, of: WeightKey) -> Option<(&GroupPlace, Terms)> {
        let group = self.adapter?.group(of)?;
        Some((group, group.terms?))
    }

    /// The dispatch of `A · x`, which a group's terms begin with.
    pub(super) fn ranks_of(
        &self,
        (group, terms): (&GroupPlace, Terms),
        (x, cols): (Slice, u32),
        norm_weight: Option<Slice>,
        of_outputs: bool,
    ) -> Option<Dispatch> {
        let (slot, buffers) = (self.adapter?.slot, self.forward.buffers);
        let places = lora::Places { pass: buffers.pass, scales: buffers.scales, t: terms.place };
        let row = RowOfA { slot, a: group.a, ranks: group.ranks, cols, x, norm_weight, of_outputs };
        Some(row.dispatch(places, buffers.dummy))
    }

    /// What the adapters add behind a run of products, for these rows.
    pub(super) fn adapt(&self, op: &Op, rows: OfRows) -> Vec<Dispatch> {
        let (Op::Adapt { x, of, ys, factor }, Some(adapters)) = (op, self.forward.adapters) else {
            return Vec::new();
        };
        let y: Rows = self.places.of(ys[0]).rows();
        debug_assert_eq!(y.offset, 0, "the results of the first product come first");
        let x = x.map(|x| (self.places.of(x).rows(), self.forward.width(x)));
        let buffers = self.forward.buffers;
        let places = lora::Places { pass: buffers.pass, scales: buffers.scales, t: adapters.t };
        let groups = adapters.all.iter().filter_map(|adapter| Some((adapter.slot, adapter.group(*of)?)));
        let dispatches = groups.flat_map(|(slot, &GroupPlace { a, b, segments, ref plan, ranks, .. })| {
            Lora { slot, a, b, segments, plan, ranks }.dispatches(places, rows, x, (y, *factor))
        });
        dispatches.collect()
    }
}
