//! Where activations lie: rows in buffers that activations share when they are not needed at the same time.

use std::collections::HashMap;

use super::fusion::{DECODE, PREFILL, steps};
use super::plan::Plan;
use crate::kernels::norm::Rows;
use crate::kernels::spec::Slice;
use crate::model::program::{Activation, Op, Program};

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
    first: usize,
    last: usize,
}

/// The places of every layer and of the head, for passes of up to `rows` rows. The residual stream has a buffer of its
/// own, the logits have `logits`.
pub fn place(program: &Program, rows: usize, logits: Slice, plan: &mut Plan) -> (Vec<Places>, Places) {
    let x = program.residual();
    let parts: Vec<&[Op]> = program.layers.iter().chain([&program.head]).map(Vec::as_slice).collect();
    let assigned: Vec<Vec<(Group, usize)>> = parts.iter().map(|ops| assign(ops, x)).collect();
    let mut widths = Vec::new();
    for (group, slot) in assigned.iter().flatten() {
        let width = group.members.iter().map(|&member| program.width(member)).sum::<usize>();
        widths.resize(widths.len().max(slot + 1), 0);
        // Logits are only wanted for some rows, in a buffer of their own.
        if !is_logits(program, group) {
            widths[*slot] = width.max(widths[*slot]);
        }
    }
    let stream = plan.words("x", rows * program.width(x));
    let slots: Vec<Slice> =
        widths.iter().enumerate().map(|(i, width)| plan.words(format!("activations {i}"), rows * width)).collect();
    let places = |groups: &Vec<(Group, usize)>| {
        let mut places = Places(HashMap::from([(x, Place { slice: stream, offset: 0, stride: program.width(x) })]));
        for (group, slot) in groups {
            let slice = if is_logits(program, group) { logits } else { slots[*slot] };
            places.add(program, group, slice);
        }
        places
    };
    let mut all: Vec<Places> = assigned.iter().map(places).collect();
    let head = all.pop().unwrap_or_default();
    (all, head)
}

fn is_logits(program: &Program, group: &Group) -> bool {
    group.members.iter().any(|member| program.activations[member.0].name == crate::model::program::LOGITS)
}

impl Places {
    fn add(&mut self, program: &Program, group: &Group, slice: Slice) {
        let stride = group.members.iter().map(|&member| program.width(member)).sum();
        let mut offset = 0;
        for &member in &group.members {
            self.0.insert(member, Place { slice, offset, stride });
            offset += program.width(member);
        }
    }
}

/// The activations of one part besides `x`, each group with the number of a slot that nobody else needs meanwhile.
fn assign(ops: &[Op], x: Activation) -> Vec<(Group, usize)> {
    let mut taken: Vec<(Group, usize)> = Vec::new();
    for group in groups(ops, x) {
        let overlaps = |other: &Group| other.first <= group.last && group.first <= other.last;
        let free = |slot: &usize| !taken.iter().any(|(other, of)| of == slot && overlaps(other));
        let slot = (0..).find(free).unwrap_or(0);
        taken.push((group, slot));
    }
    taken
}

/// What is written between two operations that write it anew is a group of its own. Results of products of one `x` lie
/// side by side.
fn groups(ops: &[Op], x: Activation) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        let [start, end] = spans(ops, at);
        let known = |groups: &mut Vec<Group>, of| groups.iter().rposition(|g: &Group| g.members.contains(&of));
        for read in op.reads() {
            if let Some(group) = known(&mut groups, read) {
                groups[group].last = groups[group].last.max(end);
            }
        }
        let y = op.writes();
        if y == x {
            continue;
        }
        let beside = match (at.checked_sub(1).map(|before| &ops[before]), op) {
            (Some(Op::Linear { x: a, .. }), Op::Linear { x: b, .. }) => a == b,
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
            None => groups.push(Group { members: vec![y], first: start, last: end }),
        }
    }
    groups
}

/// The first and the last operation of the longest step that operation `at` is part of: a fused step reads and writes
/// at any time within it.
fn spans(ops: &[Op], at: usize) -> [usize; 2] {
    let of = |rules| {
        let step = steps(ops, rules).into_iter().find(|step| (step.start..step.end).contains(&at));
        step.map_or([at, at], |step| [step.start, step.end - 1])
    };
    let [a, b] = [of(DECODE), of(PREFILL)];
    [a[0].min(b[0]), a[1].max(b[1])]
}
