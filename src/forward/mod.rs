//! Tokens → logits, as command lists: plain data that `gpu` makes ready once and replays.
//!
//! A model's [`Program`] is lowered twice over one set of buffers. *Prefill* runs a chunk of up to [`CHUNK`] tokens
//! through all layers; *decode* runs the rows that the sampler left in the pass through all layers and the head. Each
//! turns the operations into steps (`fusion`) by its own table of rules, and every step into dispatches. What changes
//! from token to token is in the pass on the GPU, so the lists never change.

mod activations;
mod adapters;
mod attend;
mod buffers;
mod decode;
mod embed;
mod embedder;
mod encoder;
mod expert_adapters;
mod experts;
mod export;
mod fusion;
mod growth;
mod lists;
mod next;
mod placement;
mod plan;
mod prefill;
mod recurrent;
mod row_cache;
mod source;
mod streams;
mod trace;
mod weights;
mod whole;

pub use activations::widest_row;
pub use activations::{Place, Places};
pub use adapters::{AdapterGroup, AdapterPlaces, Adapters, GroupPlace, adapted, adapter_groups};
pub use buffers::{Buffers, Inputs, LayerCache, MAX_STOPS, Room, SampleBuffers, Scratch, takes_drafts};
pub use embedder::BatchLists;
pub use encoder::Tables;
pub use expert_adapters::bytes_of_experts;
pub use experts::{ExpertPart, ExpertScratch};
pub use export::{Export, export};
pub use growth::{Growth, Moved, START_CONTEXT, grown_lengths};
pub use lists::Lists;
pub use next::Next;
pub use placement::place;
pub use plan::{BufferSpec, Plan};
pub use recurrent::checkpoint_slots;
pub use row_cache::RowCache;
pub use source::Source;
pub use trace::{Traced, ops_in_a_row};
pub use weights::{Part, Placement, Projection, RowRun, Target, VectorRun, Weights};
pub use whole::Whole;

use fusion::Step;
use next::Following;
use whole::Together;

use crate::kernels::accept_drafts::accept_drafts;
use crate::kernels::argmax::{Choices, Commit, argmax, argmax_merge};
use crate::kernels::caps::Caps;
use crate::kernels::elementwise::{self, Arg, Element, Input, Output, elementwise};
use crate::kernels::logit_bias::logit_bias;
use crate::kernels::norm;
use crate::kernels::output_gate::{OutputGate, output_gate};
use crate::kernels::pool::pool;
use crate::kernels::sample::{Sample, sample};
use crate::kernels::spec::{Dispatch, Extent, MAX_WORKGROUPS, Slice};
use crate::kernels::swiglu::swiglu;
use crate::model::program::{self, Activation, Factor, NormKind, Op, Program};
use crate::model::{GateKind, WeightKey};

/// Tokens of a prefill chunk, at most.
pub const CHUNK: usize = 512;

/// Positions evaluated at once: their logits are `[EVALUATE_CHUNK, vocab]`.
pub const EVALUATE_CHUNK: usize = 16;

/// A model placed on a device: what the lists are written from.
#[derive(Clone, Copy)]
pub struct Forward<'a> {
    /// What the model computes.
    pub program: &'a Program,
    /// The device.
    pub caps: &'a Caps,
    /// Where the weights are.
    pub weights: &'a Weights,
    /// Where everything else is.
    pub buffers: &'a Buffers,
    /// The adapters of the lists, whose program has their places.
    pub adapters: Option<Adapters<'a>>,
}

impl<'a> Forward<'a> {
    /// A model with every fusion that there is.
    pub fn new(program: &'a Program, caps: &'a Caps, weights: &'a Weights, buffers: &'a Buffers) -> Self {
        Self { program, caps, weights, buffers, adapters: None }
    }

    /// Everything that runs a model.
    pub fn lists(&self) -> Lists {
        let mut lists = self.lists_of_rows(1);
        (lists.prefill, lists.kept) = self.prefill_and_kept();
        lists.head = self.head(1);
        (lists.source, lists.keys) = self.source();
        if let Some(next) = self.next() {
            lists.kept = lists.prefill.len();
            lists.follow = next.follow_many();
        }
        lists
    }

    /// The lists of a decode pass of so many rows.
    pub fn lists_of_rows(&self, rows: u32) -> Lists {
        let mut lists = Lists::default();
        let state;
        (lists.decode, lists.kept, state) = self.decode_and_kept(rows);
        if let Some(next) = self.next() {
            lists.decode.extend(next.follow_few(rows, state));
        }
        lists.bias = self.bias(rows);
        lists.greedy = self.greedy(rows);
        lists.sample = self.sample(rows);
        lists
    }

    /// The lists of a pass of this many rows: a sequence's last token and a draft of those after it.
    pub fn lists_of_draft(&self, rows: u32) -> Lists {
        let commit = Commit { is_draft: true, ..self.buffers.commit() };
        let (room, SampleBuffers { counts, drafts, .. }) = (self.buffers.room, self.buffers.sample);
        let sizes = [rows, self.vocab(), room.context as u32];
        let accept = accept_drafts(sizes, [commit.stops, counts, commit.pass], drafts);
        let mut lists = match &self.buffers.replay {
            Some(replay) => self.lists_with_replay(replay, rows),
            None => self.lists_of_rows(rows),
        };
        lists.greedy = self.greedy_by(rows, commit);
        lists.sample = self.sample_by(rows, commit);
        let next = self.next();
        for list in [&mut lists.greedy, &mut lists.sample] {
            list.push(accept.clone());
            list.extend(next.as_ref().map(Following::carry_accepted));
        }
        lists.step = self.whole().map_or(Vec::new(), |whole| whole.step(rows));
        lists
    }

    /// The list of a step that drafts a token for each of `rows` sequences, where a block of the model does.
    pub fn lists_of_steps(&self, rows: u32) -> Lists {
        Lists { step: self.next().map_or(Vec::new(), |next| next.step(rows)), ..Lists::default() }
    }

    /// What predicts the token after the next, if there is room for that. Its code is in the part of the WebAssembly
    /// for rare families, but for this.
    fn next(&self) -> Option<Following<'a>> {
        let (program, next) = (self.program.next.as_deref()?, self.buffers.next.as_ref()?);
        Some(Following { forward: *self, program, next })
    }

    /// The same of what drafts several tokens in one pass.
    fn whole(&self) -> Option<Together<'a>> {
        let (program, whole) = (self.program.next.as_deref()?, self.buffers.whole.as_ref()?);
        Some(Together { forward: *self, program, whole })
    }

    /// Logits of the last `rows` rows → the largest one's id of each, committed as the next token.
    pub fn greedy(&self, rows: u32) -> Vec<Dispatch> {
        self.greedy_by(rows, self.buffers.commit())
    }

    fn greedy_by(&self, rows: u32, commit: Commit) -> Vec<Dispatch> {
        let (logits, s) = (self.buffers.logits, &self.buffers.sample);
        let vocab = self.vocab();
        let choices = Choices { pass: self.buffers.pass, mask: s.mask, logits };
        vec![
            argmax([rows, vocab], choices, s.partial_argmaxes),
            argmax_merge([rows, vocab], s.partial_argmaxes, commit),
        ]
    }

    /// Logits of the last `rows` rows → one id of each by its sequence's options, committed as the next token.
    pub fn sample(&self, rows: u32) -> Vec<Dispatch> {
        self.sample_by(rows, self.buffers.commit())
    }

    fn sample_by(&self, rows: u32, commit: Commit) -> Vec<Dispatch> {
        let s = self.buffers.sample;
        let problem = Sample {
            outputs: rows,
            length: self.vocab(),
            options: s.options,
            counts: s.counts,
            mask: s.mask,
            logits: self.buffers.logits,
            scratch: s.scratch,
            commit,
        };
        sample(&problem).into()
    }

    /// Logits of the last `rows` rows, with the biases of their sequences.
    pub fn bias(&self, rows: u32) -> Vec<Dispatch> {
        let Buffers { pass, logits, sample, .. } = self.buffers;
        vec![logit_bias([rows, self.vocab()], *pass, sample.biases, *logits)]
    }

    fn vocab(&self) -> u32 {
        self.width(self.program.output_activation())
    }

    fn vector(&self, key: WeightKey) -> Slice {
        self.weights.vectors[&key]
    }

    fn width(&self, activation: Activation) -> u32 {
        self.program.width(activation) as u32
    }
}

/// The steps that prefill and decode have in common, over the places of one layer or of the head.
#[derive(Clone, Copy)]
struct Lowering<'a> {
    forward: Forward<'a>,
    places: &'a Places,
    /// Rows of the largest pass.
    rows: u32,
    /// Of decode with one row: the buffer of the residual stream that is not in use.
    spare: Option<Slice>,
    /// The adapter whose products add to their own sums.
    adapter: Option<&'a AdapterPlaces>,
}

impl Lowering<'_> {
    /// The dispatches of a step without matrices and without attention.
    fn simple(&self, step: &Step) -> Vec<Dispatch> {
        match step {
            Step::Norm { x, norm, y, add } => vec![self.norm(*x, norm, *y, *add)],
            Step::Alone(Op::Embed { table, scale, y, .. }) => self.embed(*table, *scale, *y),
            Step::Alone(Op::EmbedPlace { table, row, y }) => self.embed_place(*table, *row, *y),
            Step::Alone(Op::Input { .. } | Op::Angles { .. }) => Vec::new(),
            Step::Alone(Op::Hadamard { x, rotation, y }) => self.hadamard([*x, *y], rotation),
            Step::Alone(Op::Switch { kind, y }) => vec![self.switch(*kind, *y)],
            Step::Alone(op) => vec![self.alone(op)],
            Step::Linears { .. } | Step::Attention { .. } | Step::Experts { .. } | Step::Adapt(_) => {
                unreachable!("each lowering has its own")
            }
        }
    }

    /// An operation that has a kernel.
    fn alone(&self, op: &Op) -> Dispatch {
        match *op {
            Op::GateHeads { x, gate, norm, width, y } => self.gate_heads([x, gate, y], norm, width),
            Op::Gate { gate, up, at, kind, y } => self.gate(kind, gate, (up, at), y),
            Op::GateRow { x, gate } => self.gate_row(x, gate),
            Op::Route { logits, ref routing, routes } => self.route(logits, routing, routes),
            Op::Activate { x, kind } => self.elementwise(&elementwise::activation(kind), self.places.of(x), None),
            Op::Add { x, scale, to } => {
                let [x, to] = [x, to].map(|of| self.places.of(of));
                let scaled = elementwise::Step::new(elementwise::Op::Mul, &[Arg::Input(1), Arg::Number(scale)]);
                let sum = |of| elementwise::Step::new(elementwise::Op::Add, &[Arg::Input(0), of]);
                match scale {
                    1.0 => self.elementwise(&[sum(Arg::Input(1))], to, Some(x)),
                    _ => self.elementwise(&[scaled, sum(Arg::Step(0))], to, Some(x)),
                }
            }
            Op::Scale { x, factor: Factor::Number(factor) } => {
                let scaled = [elementwise::Step::new(elementwise::Op::Mul, &[Arg::Input(0), Arg::Number(factor)])];
                self.elementwise(&scaled, self.places.of(x), None)
            }
            Op::Scale { x, factor: Factor::Weight(factor) } => {
                let product = [elementwise::Step::new(elementwise::Op::Mul, &[Arg::Input(0), Arg::Input(1)])];
                let factor = Place { slice: self.forward.vector(factor), offset: 0, stride: 0 };
                self.elementwise(&product, self.places.of(x), Some(factor))
            }
            Op::SoftCap { x, cap } => {
                let chain = [
                    elementwise::Step::new(elementwise::Op::Mul, &[Arg::Input(0), Arg::Number(cap.recip())]),
                    elementwise::Step::new(elementwise::Op::Tanh, &[Arg::Step(0)]),
                    elementwise::Step::new(elementwise::Op::Mul, &[Arg::Step(1), Arg::Number(cap)]),
                ];
                self.elementwise(&chain, self.places.of(x), None)
            }
            Op::HeadValues { x, weight, heads, rows, y } => self.head_values([x, y], weight, heads, rows),
            Op::JoinHeads { parts, heads, y } => self.join_heads(parts, heads, y),
            Op::Streams { base, x, spec, y } => self.streams([base, x], spec, y),
            Op::Spread { x, kind } => self.spread(x, kind),
            Op::Lerp { .. } | Op::WkvOutput { .. } => self.of_rwkv(op),
            Op::Conv { .. } | Op::Scan { .. } | Op::ChannelScan { .. } => unreachable!("each lowering has its own"),
            Op::DeltaNet { .. } | Op::Wkv { .. } => unreachable!("each lowering has its own"),
            Op::AttendSource { q, ref attention, number, y, .. } => self.attend_source([q, y], attention, number),
            Op::HeadLinear { .. } | Op::Hadamard { .. } | Op::Switch { .. } => unreachable!("each has its own"),
            Op::Pool { x, kind, y } => {
                let [from, to] = [x, y].map(|of| self.places.of(of).slice);
                pool(kind, self.forward.width(x), self.forward.buffers.inputs.spans, from, to)
            }
            Op::AddPlaces { .. } | Op::Break { .. } | Op::Regroup { .. } | Op::Turn { .. } => self.encoder(op),
            Op::Project { .. } | Op::ConvAround { .. } | Op::Bound { .. } | Op::AttendNear { .. } => self.encoder(op),
            Op::AttendFar { .. } | Op::AttendRows { .. } | Op::Repeat { .. } => self.encoder(op),
            Op::AttendBlocks { .. } | Op::AttendGrid { .. } | Op::ConvGrid { .. } => self.encoder(op),
            Op::Copy { x, y } => self.copy(x, y),
            Op::Combine { x, kind, with } => self.combine(x, kind, with),
            Op::Embed { .. }
            | Op::EmbedPlace { .. }
            | Op::Input { .. }
            | Op::Angles { .. }
            | Op::Norm { .. }
            | Op::Linear { .. }
            | Op::Rope { .. }
            | Op::Attend { .. }
            | Op::ExpertGate { .. }
            | Op::ExpertDown { .. }
            | Op::Adapt { .. } => {
                unreachable!("a step of its own")
            }
        }
    }

    /// More rows than a grid has go two by two, as groups of one row.
    fn norm(&self, x: Activation, norm: &program::Norm, y: Activation, add: Option<f32>) -> Dispatch {
        let mut groups = self.forward.width(x) / norm.width as u32;
        let [mut x, mut y] = [x, y].map(|of| self.places.of(of).rows());
        let in_pairs = self.rows > MAX_WORKGROUPS;
        if in_pairs {
            debug_assert!(groups == 1 && self.rows <= 2 * MAX_WORKGROUPS && self.rows.is_multiple_of(2));
            debug_assert!([x, y].iter().all(|rows| rows.offset == 0 && rows.stride == norm.width as u32));
            (groups, x.stride, y.stride) = (2, 2 * x.stride, 2 * y.stride);
        }
        let vector = |key: WeightKey| self.forward.weights.vectors.get(&key).copied();
        let problem = norm::Norm {
            width: norm.width as u32,
            groups,
            centred: norm.kind == NormKind::Layer,
            eps: norm.eps,
            x,
            weight: norm.weight.and_then(vector),
            weight_by_group: norm.is_grouped,
            bias: norm.bias.and_then(|bias| vector(bias.key)),
            y,
            add,
        };
        let mut dispatch = norm::norm(&problem, self.forward.buffers.dummy);
        if in_pairs {
            dispatch.grid[0] = Extent::PerRows(2);
        }
        dispatch
    }

    /// `y = activation(gate) · up`, of the values of `up` from `at` on.
    fn gate(&self, kind: GateKind, gate: Activation, (up, at): (Activation, usize), y: Activation) -> Dispatch {
        let width = self.forward.width(gate);
        let [gate, mut up] = [gate, up].map(|of| self.places.of(of).rows());
        up.offset += at as u32;
        let y = self.places.of(y);
        debug_assert!(y.offset == 0 && y.stride == width as usize, "gates are written to whole rows");
        swiglu(kind, width, [gate, up], y.slice)
    }

    fn gate_heads(&self, [x, gate, y]: [Activation; 3], norm: Option<(WeightKey, f32)>, width: usize) -> Dispatch {
        let heads = self.forward.width(x) / width as u32;
        let gates = self.forward.width(gate) / heads;
        let [x, gate, y] = [x, gate, y].map(|of| self.places.of(of).rows());
        debug_assert!([x, y].iter().all(|rows| rows.offset == 0 && rows.stride == heads * width as u32));
        let problem = OutputGate {
            heads: [heads, width as u32],
            norm: norm.map(|(weight, eps)| (self.forward.vector(weight), eps)),
            x: x.slice,
            gate,
            gates,
            y: y.slice,
        };
        output_gate(&problem, self.forward.buffers.dummy)
    }

    /// `y = chain(y, other)`, where an `other` of stride 0 is one number, over all rows that a pass may have.
    fn elementwise(&self, chain: &[elementwise::Step], y: Place, other: Option<Place>) -> Dispatch {
        let inputs = [Some(y), other].into_iter().flatten();
        self.elementwise_by(chain, y, inputs.map(|place| (place, u32::from(place.stride > 0))).collect())
    }

    /// `y = chain(y, other)`, with so many values of `other` from one column to the next.
    fn elementwise_of(&self, chain: &[elementwise::Step], y: Place, other: (Place, u32)) -> Dispatch {
        self.elementwise_by(chain, y, vec![(y, 1), other])
    }

    fn elementwise_by(&self, chain: &[elementwise::Step], y: Place, inputs: Vec<(Place, u32)>) -> Dispatch {
        let input = |(place, step): (Place, u32)| Input {
            slice: place.slice,
            element: Element::F32,
            strides: vec![place.stride as u32, step],
        };
        let inputs: Vec<Input> = inputs.into_iter().map(input).collect();
        let sizes = [self.rows, y.stride as u32];
        let y = Output { slice: y.slice, element: Element::F32, sizes: &sizes };
        let program = elementwise::Program::new(chain, inputs.len()).expect("a chain without mistakes");
        elementwise(&program, &inputs, &y, true, self.forward.buffers.dummy)
    }
}
