//! Operations → steps: which operations of a program one kernel computes together.
//!
//! A table of rules is tried at each operation, and the first that fits is taken. What no rule fuses is a step of its
//! own, so a new family runs before it is fast, and becomes fast by a row of a table.

use crate::model::program::{Activation, AttentionSpec, Factor, Keys, Norm, NormKind, Op};
use crate::model::{ActivationKind, GateKind, WeightKey};

/// What a product of matrices ends with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Then {
    /// `y = W · x`
    Store,
    /// `to += scale · W · x`
    Add { to: Activation, scale: f32 },
    /// `y = gelu(W · x)`
    Gelu,
    /// `y = activation(gate) · up` of the two products.
    Gate(GateKind, Activation),
}

/// Operations that run together.
#[derive(Debug, Clone, PartialEq)]
pub enum Step<'p> {
    /// `y = norm(x)`, or with `add` `y += add · norm(x)`.
    Norm { x: Activation, norm: Norm, y: Activation, add: Option<f32> },
    /// Products of one `x`, which changes on the way; `linears` are all [`Op::Linear`].
    Linears { input: Input, linears: &'p [Op], then: Then },
    /// Norms over heads, rotation of q and k, attention, and the KV cache where there is one.
    Attention { heads: OfHeads, attend: Attend },
    /// [`Op::Adapt`].
    Adapt(&'p Op),
    /// [`Op::ExpertGate`], or [`Op::ExpertDown`] with what it is added to.
    Experts { op: &'p Op, to: Option<Activation> },
    /// An operation that a kernel computes by itself.
    Alone(&'p Op),
}

/// What products read: in this order, each where there is one, an update of x, its norm, or its gate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Input {
    /// Without update, norm and gate, this.
    pub x: Activation,
    /// x is the residual stream, to which this is added.
    pub update: Option<Update>,
    /// The norm, and where its result is when no product can do it.
    pub norm: Option<(Norm, Activation)>,
    /// x is a gate.
    pub gate: Option<Gated>,
}

/// `x = factor · (x + norm(of))`: what ends a block whose output is normalised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Update {
    /// The output of the block.
    pub of: Activation,
    /// Its weight and epsilon.
    pub norm: PlainNorm,
    /// A tensor `[1]`.
    pub factor: Option<WeightKey>,
}

/// The fields of [`Op::Gate`] but the gate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gated {
    pub up: Activation,
    pub at: usize,
    pub kind: GateKind,
    pub y: Activation,
}

impl From<Activation> for Input {
    fn from(x: Activation) -> Self {
        Self { x, update: None, norm: None, gate: None }
    }
}

/// Weight and epsilon of an RMS norm.
pub type PlainNorm = (WeightKey, f32);

/// What happens to the heads before attention.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OfHeads {
    /// Norm of each head of q; and of k, where the layer has keys of its own.
    pub qk_norm: Option<(WeightKey, Option<WeightKey>)>,
    /// Whether q and k are normalised after their rotation.
    pub norms_rotated: bool,
    /// Norm of each head of v, without weight.
    pub v_norm: bool,
    /// Of these norms.
    pub eps: f32,
    /// The table of the rotation of q and k.
    pub rope: Option<usize>,
    /// v is k before its norm.
    pub v_is_k: bool,
}

/// The fields of [`Op::Attend`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Attend {
    pub q: Activation,
    pub kv: Option<[Activation; 2]>,
    pub attention: AttentionSpec,
    pub keys: Keys,
    pub y: Activation,
}

/// Looks at the operations from one on: how many of them become which step, if the rule fits.
pub type Rule = for<'p> fn(&'p [Op]) -> Option<(usize, Step<'p>)>;

/// Few rows: memory is read once per weight, so whatever stands between two products is folded into them.
pub const DECODE: &[Rule] =
    &[update_linears, linears_gate, linear_gelu, norm_linears, gate_linear, linear_scaled_add, norm_add, experts_add];

/// Many rows: products want their activations in memory.
pub const PREFILL: &[Rule] = &[linear_add, norm_add, experts_add];

/// A step with the operations it stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct Fused<'p> {
    /// What runs.
    pub step: Step<'p>,
    /// The first operation of the step.
    pub start: usize,
    /// One past its last operation.
    pub end: usize,
}

/// The steps of `ops` by these rules.
///
/// # Panics
/// For operations that no kernel computes by themselves: rotations and norms of heads without attention after them.
pub fn steps<'p>(ops: &'p [Op], rules: &[Rule]) -> Vec<Fused<'p>> {
    let mut steps = Vec::new();
    let mut start = 0;
    while start < ops.len() {
        let rest = &ops[start..];
        let fused = rules.iter().find_map(|rule| rule(rest));
        let (count, step) = fused.or_else(|| attention(rest)).unwrap_or_else(|| alone(rest));
        steps.push(Fused { step, start, end: start + count });
        start += count;
    }
    steps
}

/// Whether nobody reads `activation` in `rest` before it is written anew.
pub(super) fn is_dead(activation: Activation, rest: &[Op]) -> bool {
    let next = rest.iter().find(|op| op.reads().contains(&activation) || op.writes() == activation);
    next.is_none_or(|op| !op.reads().contains(&activation))
}

/// How many operations from the first on are products of `x`.
fn count_linears(ops: &[Op], input: Activation) -> usize {
    ops.iter().take_while(|op| matches!(op, Op::Linear { x, .. } if *x == input)).count()
}

/// A norm of whole rows whose result only the products after it read, and how many these are; or products without.
fn maybe_normed(ops: &[Op]) -> Option<(Input, &[Op], &[Op])> {
    let (input, rest) = match ops {
        [Op::Norm { x, norm, y }, rest @ ..] if x != y && !norm.is_grouped => {
            (Input { norm: Some((*norm, *y)), ..Input::from(*x) }, rest)
        }
        [Op::Linear { x, .. }, ..] => (Input::from(*x), ops),
        _ => return None,
    };
    let (linears, rest) = rest.split_at(count_linears(rest, input.norm.map_or(input.x, |(_, y)| y)));
    let own = input.norm.is_none_or(|(_, y)| is_dead(y, rest));
    (own && !linears.is_empty()).then_some((input, linears, rest))
}

fn norm_linears(ops: &[Op]) -> Option<(usize, Step<'_>)> {
    let (input, linears, rest) = maybe_normed(ops)?;
    input.norm?;
    Some((ops.len() - rest.len(), Step::Linears { input, linears, then: Then::Store }))
}

fn linears_gate(ops: &[Op]) -> Option<(usize, Step<'_>)> {
    let (input, linears, rest) = maybe_normed(ops)?;
    let [first, second] = linears else { return None };
    let [Op::Gate { gate, up, at: 0, kind, y }, rest @ ..] = rest else { return None };
    let own = first.writes() == *gate && second.writes() == *up;
    (own && is_dead(*gate, rest) && is_dead(*up, rest))
        .then_some((ops.len() - rest.len(), Step::Linears { input, linears, then: Then::Gate(*kind, *y) }))
}

/// The norm after a block, its addition, the layer's factor, and products of the stream, with their own norm or gate.
fn update_linears(ops: &[Op]) -> Option<(usize, Step<'_>)> {
    let [Op::Norm { x: of, norm, y }, Op::Add { x: added, scale: 1.0, to }, rest @ ..] = ops else { return None };
    let norm = norm.plain_rms()?;
    let (factor, rest) = match rest {
        [Op::Scale { x, factor: Factor::Weight(factor) }, rest @ ..] if x == to => (Some(*factor), rest),
        _ => (None, rest),
    };
    let (count, step) = linears_gate(rest).or_else(|| norm_linears(rest)).or_else(|| linears(rest))?;
    let Step::Linears { input, linears, then } = step else { return None };
    let unbiased = linears.iter().all(|op| matches!(op, Op::Linear { bias: None, .. }));
    let own = y == added && of != to && input.x == *to && is_dead(*y, rest);
    let input = Input { update: Some(Update { of: *of, norm, factor }), ..input };
    (own && unbiased).then_some((ops.len() - rest.len() + count, Step::Linears { input, linears, then }))
}

/// A gate whose result only the product after it reads.
fn gate_linear(ops: &[Op]) -> Option<(usize, Step<'_>)> {
    let [Op::Gate { gate, up, at, kind, y }, rest @ ..] = ops else { return None };
    let linears = &rest[..count_linears(rest, *y)];
    let input = Input { gate: Some(Gated { up: *up, at: *at, kind: *kind, y: *y }), ..Input::from(*gate) };
    (!linears.is_empty() && is_dead(*y, &rest[linears.len()..]))
        .then_some((1 + linears.len(), Step::Linears { input, linears, then: Then::Store }))
}

fn linear_scaled_add(ops: &[Op]) -> Option<(usize, Step<'_>)> {
    let [Op::Linear { x, y, .. }, Op::Add { x: added, scale, to }, rest @ ..] = ops else { return None };
    let then = Then::Add { to: *to, scale: *scale };
    (y == added && y != to && is_dead(*y, rest))
        .then_some((2, Step::Linears { input: Input::from(*x), linears: &ops[..1], then }))
}

fn linear_add(ops: &[Op]) -> Option<(usize, Step<'_>)> {
    linear_scaled_add(ops).filter(|(_, step)| matches!(step, Step::Linears { then: Then::Add { scale: 1.0, .. }, .. }))
}

/// An activation of all that a product, with its norm, gives.
fn linear_gelu(ops: &[Op]) -> Option<(usize, Step<'_>)> {
    let (input, linears, rest) = maybe_normed(ops)?;
    let [Op::Linear { y, .. }] = linears else { return None };
    let [Op::Activate { x, kind: ActivationKind::Gelu }, rest @ ..] = rest else { return None };
    (x == y).then_some((ops.len() - rest.len(), Step::Linears { input, linears, then: Then::Gelu }))
}

fn norm_add(ops: &[Op]) -> Option<(usize, Step<'_>)> {
    let [Op::Norm { x, norm, y }, Op::Add { x: added, scale, to }, rest @ ..] = ops else { return None };
    (y == added && x != to && is_dead(*y, rest))
        .then_some((2, Step::Norm { x: *x, norm: *norm, y: *to, add: Some(*scale) }))
}

fn experts_add(ops: &[Op]) -> Option<(usize, Step<'_>)> {
    let [op @ Op::ExpertDown { y, .. }, Op::Add { x: added, scale: 1.0, to }, rest @ ..] = ops else { return None };
    (y == added && y != to && is_dead(*y, rest)).then_some((2, Step::Experts { op, to: Some(*to) }))
}

/// Attention with what stands before it: norms of heads, rotation.
fn attention(ops: &[Op]) -> Option<(usize, Step<'_>)> {
    let end = ops.iter().position(|op| !matches!(op, Op::Norm { .. } | Op::Rope { .. }))?;
    let mut heads = OfHeads::default();
    let Op::Attend { q, kv, attention, keys, y } = ops[end] else { return None };
    let attend = Attend { q, kv, attention, keys, y };
    for op in &ops[..end] {
        heads.take(op, &attend)?;
    }
    Some((end + 1, Step::Attention { heads, attend }))
}

impl OfHeads {
    /// Takes note of an operation before attention; `None` where it is none of its heads.
    fn take(&mut self, op: &Op, attend: &Attend) -> Option<()> {
        let [k, v] = attend.kv.map_or([None; 2], |kv| kv.map(Some));
        match op {
            Op::Norm { x, norm, y } if norm.width == attend.attention.head_dim && norm.kind == NormKind::Rms => {
                self.eps = norm.eps;
                match norm.plain_rms().map(|(weight, _)| weight) {
                    Some(weight) if *x == attend.q && x == y => {
                        (self.qk_norm, self.norms_rotated) = (Some((weight, None)), self.rope.is_some());
                    }
                    Some(weight) if Some(*x) == k && x == y => self.qk_norm.as_mut()?.1 = Some(weight),
                    // Rows of a batch have no kernel that normalises values beside queries and keys.
                    None if matches!(attend.keys, Keys::OfInput(_)) => return None,
                    None if norm.weight.is_none() && Some(*y) == v && (x == y || Some(*x) == k) => {
                        (self.v_norm, self.v_is_k) = (true, x != y);
                    }
                    _ => return None,
                }
            }
            Op::Rope { x, table, .. } if *x == attend.q => self.rope = Some(*table),
            Op::Rope { x, table, .. } if Some(*x) == k && self.rope == Some(*table) => {}
            _ => return None,
        }
        Some(())
    }
}

/// The products that operations start with.
fn linears(ops: &[Op]) -> Option<(usize, Step<'_>)> {
    let Op::Linear { x, .. } = ops.first()? else { return None };
    let linears = &ops[..count_linears(ops, *x)];
    Some((linears.len(), Step::Linears { input: Input::from(*x), linears, then: Then::Store }))
}

/// The first operation, or the products that start with it.
fn alone(ops: &[Op]) -> (usize, Step<'_>) {
    match ops[0] {
        Op::Norm { x, norm, y } => (1, Step::Norm { x, norm, y, add: None }),
        Op::Linear { .. } => linears(ops).expect("it starts with a product"),
        Op::ExpertGate { .. } | Op::ExpertDown { .. } => (1, Step::Experts { op: &ops[0], to: None }),
        Op::Adapt { .. } => (1, Step::Adapt(&ops[0])),
        Op::Rope { .. } | Op::Attend { .. } => panic!("a rotation or an attention has no kernel by itself"),
        _ => (1, Step::Alone(&ops[0])),
    }
}
