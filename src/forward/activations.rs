//! Where activations lie: rows in buffers that activations share when they are not needed at the same time.

use std::collections::{BTreeSet, HashMap};

use super::decode::in_a_row;
use super::fusion::{DECODE, Input, PREFILL, Step, steps};
use super::plan::Plan;
use crate::kernels::norm::Rows;
use crate::kernels::spec::Slice;
use crate::model::program::{Activation, Op, Program};
use crate::model::unrotated;

/// Where the rows of an activation are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The buffer.
    pub slice: Slice,
    /// Value of a row where the activation starts.
    pub offset: usize,
    /// Values from one row to the next.
    pub stride: usize,
}

impl Place {
    /// As kernels take it.
    pub fn rows(self) -> Rows {
        Rows { slice: self.slice, stride: self.stride as u32, offset: self.offset as u32 }
    }
}

/// The places of one layer, or of the head.
#[derive(Debug, Clone, Default)]
pub struct Places(HashMap<Activation, Place>);

impl Places {
    /// The same with an activation in another buffer.
    pub fn moved(&self, activation: Activation, slice: Slice) -> Self {
        let mut places = self.clone();
        places.0.entry(activation).and_modify(|place| place.slice = slice);
        places
    }

    /// The same and others.
    pub fn and(&self, others: &Self) -> Self {
        self.with(others.0.iter().map(|(&activation, &place)| (activation, place)))
    }

    /// The same with these in place of their own.
    pub fn with(&self, others: impl IntoIterator<Item = (Activation, Place)>) -> Self {
        let mut places = self.clone();
        places.0.extend(others);
        places
    }

    /// The same activations in other places.
    pub fn map(&self, other: impl Fn(Place) -> Place) -> Self {
        Self(self.0.iter().map(|(&activation, &place)| (activation, other(place))).collect())
    }

    /// Where `activation` is; a program that names an activation it does not write is a bug.
    pub fn of(&self, activation: Activation) -> Place {
        *self.0.get(&activation).unwrap_or_else(|| panic!("{activation:?} has no place"))
    }
}

/// Activations side by side in the rows of one buffer, and the operations between which they are needed.
struct Group {
    members: Vec<Activation>,
    /// The operation that writes them first.
    at: usize,
    first: usize,
    last: usize,
}

impl Group {
    /// Values of a row.
    fn width(&self, program: &Program) -> usize {
        self.members.iter().map(|&member| program.width(member)).sum()
    }
}

/// The places of all parts of a program.
#[derive(Debug, Clone)]
pub struct AllPlaces {
    /// Of the embedding.
    pub embed: Places,
    /// Of each layer.
    pub layers: Vec<Places>,
    /// Of the head.
    pub head: Places,
}

/// The widest row of a buffer of activations, in values.
pub fn widest_row(program: &Program) -> usize {
    let lasting = lasting(program);
    let parts = program.parts().into_iter();
    let groups = parts.flat_map(|ops| groups(ops, &lasting));
    groups.map(|group| group.width(program)).chain(lasting.iter().map(|&x| program.width(x))).max().unwrap_or(0)
}

/// The places of every part, for passes of up to `rows` rows. What more than one part needs has a buffer of its own,
/// the logits have `logits`.
pub fn place(program: &Program, rows: usize, logits: Slice, plan: &mut Plan) -> AllPlaces {
    let lasting = lasting(program);
    let parts: Vec<&[Op]> = program.parts().into_iter().map(Vec::as_slice).collect();
    let assigned: Vec<Vec<(Group, usize)>> = parts.iter().map(|ops| assign(ops, &lasting)).collect();
    let mut words = Vec::new();
    let numbered = assigned.iter().enumerate().flat_map(|(part, all)| all.iter().map(move |of| (part, of)));
    for (part, (group, slot)) in numbered {
        words.resize(words.len().max(slot + 1), 0);
        // Logits are only wanted for some rows, in a buffer of their own.
        if !is_logits(program, group) {
            let rows = if part == 0 { program.rows_at(group.at, rows) } else { rows };
            words[*slot] = (group.width(program) * rows).max(words[*slot]);
        }
    }
    let own = |&activation: &Activation| {
        let (name, width) = (program.activations[activation.0].name, program.width(activation));
        (activation, Place { slice: plan.words(name, rows * width), offset: 0, stride: width })
    };
    let streams: HashMap<Activation, Place> = lasting.iter().map(own).collect();
    let slots: Vec<Slice> =
        words.iter().enumerate().map(|(i, &words)| plan.words(format!("activations {i}"), words)).collect();
    let places = |groups: &Vec<(Group, usize)>| {
        let mut places = Places(streams.clone());
        for (group, slot) in groups {
            let slice = if is_logits(program, group) { logits } else { slots[*slot] };
            places.add(program, group, slice);
        }
        places
    };
    let mut layers: Vec<Places> = assigned.iter().map(places).collect();
    let head = layers.pop().unwrap_or_default();
    let embed = if layers.is_empty() { Places::default() } else { layers.remove(0) };
    AllPlaces { embed, layers, head }
}

/// The places of what operations behind a program write on the way to their result, for passes of up to `rows` rows.
pub fn place_behind(program: &Program, ops: &[Op], rows: usize, plan: &mut Plan) -> Places {
    let known: BTreeSet<Activation> = ops.iter().flat_map(Op::reads).collect();
    let written: BTreeSet<Activation> = ops.iter().rev().skip(1).map(Op::writes).collect();
    let kept = known.difference(&written).copied().chain(ops.last().map(Op::writes)).collect();
    let mut places = Places::default();
    for group in groups(ops, &kept) {
        let slice = plan.words("activations behind the layers", group.width(program) * rows);
        places.add(program, &group, slice);
    }
    places
}

/// The places for passes of up to `rows` rows in which what operations with a recurrent state read stays until the end
/// of the pass, in buffers of its own. Other activations have their places of `all`.
pub fn place_inputs_of_states(program: &Program, rows: usize, all: &AllPlaces, plan: &mut Plan) -> AllPlaces {
    let lasting = lasting(program);
    let mut apart = all.clone();
    for (ops, places) in program.layers.iter().zip(&mut apart.layers) {
        let is_input = |of: &Activation| ops.iter().any(|op| program.state(op).is_some() && op.reads().contains(of));
        for group in groups(ops, &lasting) {
            if group.members.iter().any(is_input) {
                let slice = plan.words("inputs of recurrent states", group.width(program) * rows);
                places.add(program, &group, slice);
            }
        }
    }
    apart
}

/// What more than one part needs; in decode a layer's update is added by the first products of the next.
fn lasting(program: &Program) -> BTreeSet<Activation> {
    let (ops, part_of) = in_a_row(program);
    let update = |step: &Step| match step {
        Step::Linears { input: Input { update: Some(update), .. }, .. } => Some(update.of),
        _ => None,
    };
    let over_parts = steps(&ops, DECODE).into_iter().filter(|fused| part_of[fused.start] != part_of[fused.end - 1]);
    let mut all = program.lasting();
    all.extend(over_parts.filter_map(|fused| update(&fused.step)));
    all
}

fn is_logits(program: &Program, group: &Group) -> bool {
    group.members.iter().any(|member| program.activations[member.0].name == crate::model::program::LOGITS)
}

impl Places {
    fn add(&mut self, program: &Program, group: &Group, slice: Slice) {
        let stride = group.width(program);
        let mut offset = 0;
        for &member in &group.members {
            self.0.insert(member, Place { slice, offset, stride });
            offset += program.width(member);
        }
    }
}

/// The activations of one part alone, each group with the number of a slot that nobody else needs meanwhile.
fn assign(ops: &[Op], lasting: &BTreeSet<Activation>) -> Vec<(Group, usize)> {
    let mut taken: Vec<(Group, usize)> = Vec::new();
    for group in groups(ops, lasting) {
        let overlaps = |other: &Group| other.first <= group.last && group.first <= other.last;
        let free = |slot: &usize| !taken.iter().any(|(other, of)| of == slot && overlaps(other));
        let slot = (0..).find(free).unwrap_or(0);
        taken.push((group, slot));
    }
    taken
}

/// What is written between two operations that write it anew is a group of its own. Results of products of one `x` lie
/// side by side, and so do joined heads, q and k, copies in a row, and the query and the signal of a switch.
fn groups(ops: &[Op], lasting: &BTreeSet<Activation>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let spans = spans(ops);
    for (at, op) in ops.iter().enumerate() {
        let [start, end] = spans[at];
        let known = |groups: &mut Vec<Group>, of| groups.iter().rposition(|g: &Group| g.members.contains(&of));
        // Adapters read what was rotated for a product.
        let before = op.reads().into_iter().map(|x| unrotated(ops, at, x));
        for read in op.reads().into_iter().chain(before) {
            if let Some(group) = known(&mut groups, read) {
                groups[group].last = groups[group].last.max(end);
            }
        }
        let y = op.writes();
        if lasting.contains(&y) {
            continue;
        }
        let beside = match (at.checked_sub(1).map(|before| &ops[before]), op) {
            (Some(Op::Linear { x: a, .. }), Op::Linear { x: b, .. }) => a == b,
            (Some(Op::JoinHeads { .. }), Op::JoinHeads { .. }) | (Some(Op::Copy { .. }), Op::Copy { .. }) => true,
            (Some(Op::Switch { .. }), Op::Switch { .. }) => true,
            _ => false,
        };
        match known(&mut groups, y) {
            Some(group) => {
                groups[group].first = groups[group].first.min(start);
                groups[group].last = groups[group].last.max(end);
            }
            None if beside => {
                let group = groups.last_mut().expect("the product before has a group");
                group.members.push(y);
                group.last = group.last.max(end);
            }
            None => groups.push(Group { members: vec![y], at, first: start, last: end }),
        }
    }
    groups
}

/// For each operation the first and the last one of the longest step that it is part of: a fused step reads and writes
/// at any time within it.
fn spans(ops: &[Op]) -> Vec<[usize; 2]> {
    let mut spans: Vec<[usize; 2]> = (0..ops.len()).map(|at| [at, at]).collect();
    for rules in [DECODE, PREFILL] {
        for step in steps(ops, rules) {
            for span in &mut spans[step.start..step.end] {
                *span = [span[0].min(step.start), span[1].max(step.end - 1)];
            }
        }
    }
    spans
}
