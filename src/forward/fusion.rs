//! Operations → steps: which operations of a program one kernel computes together.
//!
//! A table of rules is tried at each operation, and the first that fits is taken. What no rule fuses is a step of its
//! own, so a new family runs before it is fast, and becomes fast by a row of a table.

use crate::model::program::{Activation, AttentionSpec, Norm, NormKind, Op};
use crate::model::{GateKind, WeightKey};

/// What a product of matrices ends with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Then {
    /// `y = W · x`
    Store,
    /// `to += W · x`
    Add(Activation),
    /// `y = activation(gate) · up` of the two products.
    Gate(GateKind, Activation),
}

/// Operations that run together.
#[derive(Debug, Clone, PartialEq)]
pub enum Step<'p> {
    /// `y = norm(x)`, or with `add` `y += norm(x)`.
    Norm { x: Activation, norm: Norm, y: Activation, add: bool },
    /// Products of one `x`, which is normalised on the way where there is a norm; `linears` are all [`Op::Linear`].
    Linears { x: Activation, norm: Option<PlainNorm>, linears: &'p [Op], then: Then },
    /// Norms over heads, rotation of q and k, the KV cache and attention.
    Attention { heads: OfHeads, attend: Attend },
    /// The same for rows that see those of their own input, without a cache.
    AttentionInput { heads: OfHeads, attend: AttendInput },
    /// [`Op::ExpertGate`], or [`Op::ExpertDown`] with what it is added to.
    Experts { op: &'p Op, to: Option<Activation> },
    /// An operation that a kernel computes by itself.
    Alone(&'p Op),
}

/// Weight and epsilon of an RMS norm.
pub type PlainNorm = (WeightKey, f32);

/// What happens to the heads before attention.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OfHeads {
    /// Norm of each head of q; and of k, where the layer has keys of its own.
    pub qk_norm: Option<(WeightKey, Option<WeightKey>)>,
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
    pub cache: usize,
    pub y: Activation,
}

/// The fields of [`Op::AttendInput`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttendInput {
    pub qkv: [Activation; 3],
    pub attention: AttentionSpec,
    pub causal: bool,
    pub y: Activation,
}

/// Looks at the operations from one on: how many of them become which step, if the rule fits.
pub type Rule = for<'p> fn(&'p [Op]) -> Option<(usize, Step<'p>)>;

/// Few rows: memory is read once per weight, so whatever stands between two products is folded into them.
pub const DECODE: &[Rule] = &[norm_linears_gate, norm_linears, linear_add, norm_add, experts_add];

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
fn is_dead(activation: Activation, rest: &[Op]) -> bool {
    let next = rest.iter().find(|op| op.reads().contains(&activation) || op.writes() == activation);
    next.is_none_or(|op| !op.reads().contains(&activation))
}

/// How many operations from the first on are products of `x`.
fn count_linears(ops: &[Op], input: Activation) -> usize {
    ops.iter().take_while(|op| matches!(op, Op::Linear { x, .. } if *x == input)).count()
}

/// A norm of whole rows whose result only the products after it read.
fn folded_norm(ops: &[Op]) -> Option<(Activation, PlainNorm, usize)> {
    let [Op::Norm { x, norm, y }, rest @ ..] = ops else { return None };
    let norm = norm.plain_rms()?;
    let count = count_linears(rest, *y);
    (x != y && count > 0 && is_dead(*y, &rest[count..])).then_some((*x, norm, count))
}

fn norm_linears(ops: &[Op]) -> Option<(usize, Step<'_>)> {
    let (x, norm, count) = folded_norm(ops)?;
    let linears = &ops[1..=count];
    Some((1 + count, Step::Linears { x, norm: Some(norm), linears, then: Then::Store }))
}

fn norm_linears_gate(ops: &[Op]) -> Option<(usize, Step<'_>)> {
    let (x, norm, 2) = folded_norm(ops)? else { return None };
    let (linears, rest) = ops[1..].split_at(2);
    let [Op::Gate { gate, up, kind, y }, rest @ ..] = rest else { return None };
    let own = linears[0].writes() == *gate && linears[1].writes() == *up;
    (own && is_dead(*gate, rest) && is_dead(*up, rest))
        .then_some((4, Step::Linears { x, norm: Some(norm), linears, then: Then::Gate(*kind, *y) }))
}

fn linear_add(ops: &[Op]) -> Option<(usize, Step<'_>)> {
    let [Op::Linear { x, y, .. }, Op::Add { x: added, scale: 1.0, to }, rest @ ..] = ops else { return None };
    (y == added && y != to && is_dead(*y, rest))
        .then_some((2, Step::Linears { x: *x, norm: None, linears: &ops[..1], then: Then::Add(*to) }))
}

fn norm_add(ops: &[Op]) -> Option<(usize, Step<'_>)> {
    let [Op::Norm { x, norm, y }, Op::Add { x: added, scale: 1.0, to }, rest @ ..] = ops else { return None };
    (y == added && x != to && is_dead(*y, rest)).then_some((2, Step::Norm { x: *x, norm: *norm, y: *to, add: true }))
}

fn experts_add(ops: &[Op]) -> Option<(usize, Step<'_>)> {
    let [op @ Op::ExpertDown { y, .. }, Op::Add { x: added, scale: 1.0, to }, rest @ ..] = ops else { return None };
    (y == added && y != to && is_dead(*y, rest)).then_some((2, Step::Experts { op, to: Some(*to) }))
}

/// Attention with what stands before it: norms of heads, rotation.
fn attention(ops: &[Op]) -> Option<(usize, Step<'_>)> {
    let end = ops.iter().position(|op| !matches!(op, Op::Norm { .. } | Op::Rope { .. }))?;
    let mut heads = OfHeads::default();
    let attend = match ops[end] {
        Op::Attend { q, kv, attention, cache, y } => Attend { q, kv, attention, cache, y },
        Op::AttendInput { qkv: [q, k, v], attention, y, .. } => Attend { q, kv: Some([k, v]), attention, cache: 0, y },
        _ => return None,
    };
    for op in &ops[..end] {
        heads.take(op, &attend)?;
    }
    let step = match ops[end] {
        Op::AttendInput { qkv, attention, causal, y } => {
            let attend = AttendInput { qkv, attention, causal, y };
            Step::AttentionInput { heads, attend }
        }
        _ => Step::Attention { heads, attend },
    };
    Some((end + 1, step))
}

impl OfHeads {
    /// Takes note of an operation before attention; `None` where it is none of its heads.
    fn take(&mut self, op: &Op, attend: &Attend) -> Option<()> {
        let [k, v] = attend.kv.map_or([None; 2], |kv| kv.map(Some));
        match op {
            Op::Norm { x, norm, y } if norm.width == attend.attention.head_dim && norm.kind == NormKind::Rms => {
                self.eps = norm.eps;
                match norm.plain_rms().map(|(weight, _)| weight) {
                    Some(weight) if *x == attend.q && x == y => self.qk_norm = Some((weight, None)),
                    Some(weight) if Some(*x) == k && x == y => self.qk_norm.as_mut()?.1 = Some(weight),
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

/// The first operation, or the products that start with it.
fn alone(ops: &[Op]) -> (usize, Step<'_>) {
    match ops[0] {
        Op::Norm { x, norm, y } => (1, Step::Norm { x, norm, y, add: false }),
        Op::Linear { x, .. } => {
            let count = count_linears(ops, x);
            (count, Step::Linears { x, norm: None, linears: &ops[..count], then: Then::Store })
        }
        Op::ExpertGate { .. } | Op::ExpertDown { .. } => (1, Step::Experts { op: &ops[0], to: None }),
        Op::Rope { .. } | Op::Attend { .. } | Op::AttendInput { .. } => {
            panic!("no kernel computes {:?} by itself", ops[0])
        }
        _ => (1, Step::Alone(&ops[0])),
    }
}
