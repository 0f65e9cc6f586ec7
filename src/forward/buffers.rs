//! The buffers of a run besides the weights: the pass, activations, KV cache, what sampling needs.

use super::activations::{self, AllPlaces};
use super::experts::ExpertScratch;
use super::growth::START_CONTEXT;
use super::next::Next;
use super::plan::Plan;
use super::recurrent::checkpoint_slots;
use super::weights::Weights;
use super::whole::Whole;
use super::{CHUNK, Source, Tables};
use crate::kernels::accept_drafts::{DRAFT_ROWS, Drafts, bytes_of_reports, words_of_texts};
use crate::kernels::argmax::{Commit, partial_argmax_bytes};
use crate::kernels::attention::{Splits, split_count};
use crate::kernels::kv_type::KvType;
use crate::kernels::mat_mul_int8::Quants;
use crate::kernels::mat_mul_subgroup_matrix::Halves;
use crate::kernels::mat_vec::MAX_COLUMNS;
use crate::kernels::pass::{MAX_SEQUENCES, Pass};
use crate::kernels::rope_kv::{Axes, Cache, Heads};
use crate::kernels::sample::{Options, mask_words, scratch_bytes};
use crate::kernels::spec::Slice;
use crate::kernels::{logit_bias, lora};
use crate::model::program::{AttentionSpec, Op, Output, Program, RopeTable};

/// Keys and values of one attention layer, and its shape.
#[derive(Debug, Clone, Copy)]
pub struct LayerCache {
    /// Heads, and positions that the cache holds.
    pub heads: Heads,
    /// Positions that a row sees, its own included; the whole context without a window.
    pub window: usize,
    /// The buffers.
    pub cache: Cache,
}

/// What kernels need besides the activations that the program names.
#[derive(Debug, Clone, Copy)]
pub struct Scratch {
    /// `[rows, heads · head_dim]`: queries after rotation.
    pub q: Slice,
    /// The inputs of a product in 8 bits.
    pub quants: Quants,
    /// The same in f16, in the same buffers: a device does one or the other.
    pub halves: Halves,
    /// Of a decode pass's attention, for a layer without a window.
    pub splits: Splits,
    /// Of a scan by chunks.
    pub products: Slice,
    /// Of prefill, where there are experts.
    pub experts: Option<ExpertScratch>,
}

/// The inputs of a batch.
#[derive(Debug, Clone, Copy)]
pub struct Inputs {
    /// First row of each and one past its last: `[inputs, 2]` u32.
    pub spans: Slice,
    /// A [`Pass`] with a row for each, for what follows pooling.
    pub pass: Slice,
}

/// What choosing a token needs.
#[derive(Debug, Clone, Copy)]
pub struct SampleBuffers {
    /// Length, then end-of-generation ids.
    pub stops: Slice,
    /// The largest logit of every segment of them.
    pub partial_argmaxes: Slice,
    /// What the sampling kernels hand on.
    pub scratch: Slice,
    /// [`crate::kernels::sample::Options`] of each sequence.
    pub options: Slice,
    /// Which ids each sequence's next token may have: see [`crate::kernels::sample::mask_words`].
    pub mask: Slice,
    /// [`crate::kernels::logit_bias::words`] of each sequence.
    pub biases: Slice,
    /// `[sequences, vocab]` counts of tokens, see [`crate::sampler::counts_of_prompt`].
    pub counts: Slice,
    /// Of passes with drafts.
    pub drafts: Drafts,
}

/// What passes with drafts need of a model with recurrent states. The states go along all rows of such a pass. Then the
/// states of before the pass go along the rows that were right, and take their place.
#[derive(Debug, Clone)]
pub struct Replay {
    /// Where activations are in these passes: what operations with a state read stays until the end.
    pub places: AllPlaces,
    /// The states before the pass: by number.
    pub states: Vec<Slice>,
}

/// End-of-generation ids that a run may have, at most.
pub const MAX_STOPS: usize = 64;

/// What a run's buffers have room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Positions of each sequence, at most.
    pub context: usize,
    /// Positions that the caches have room for now: they grow (`growth`). Rings have their own size.
    pub allocated: usize,
    /// Sequences, each with a cache of its own: at most [`MAX_SEQUENCES`](crate::kernels::pass::MAX_SEQUENCES).
    pub sequences: usize,
    /// Rows of a decode pass: at most [`MAX_COLUMNS`](crate::kernels::mat_vec::MAX_COLUMNS).
    pub rows: usize,
    /// What keys and values are in the caches.
    pub kv_type: KvType,
    /// Whether positions have several axes, as those of images do; of use to models with sections for them, and to one
    /// sequence alone.
    pub axes: bool,
    /// Whether prompts may have images whose rows see each other.
    pub whole_images: bool,
    /// Whether passes may have drafts, where the model allows it: there are rows for them then.
    pub drafts: bool,
}

impl Room {
    /// One sequence, one row at a time, in caches of f16 that grow.
    pub fn one(context: usize) -> Self {
        let kv_type = KvType::default();
        Self {
            context,
            allocated: context.min(START_CONTEXT),
            sequences: 1,
            rows: 1,
            kv_type,
            axes: false,
            whole_images: false,
            drafts: false,
        }
    }

    /// The same for so many requests that run together, as rows of the same passes: for one where positions have axes.
    pub fn for_requests(self, count: usize) -> Self {
        let count = if self.axes { 1 } else { count };
        let count = count.clamp(1, MAX_SEQUENCES.min(MAX_COLUMNS as usize));
        Self { sequences: count, rows: count, ..self }
    }

    /// The same with or without drafts.
    pub fn with_drafts(self, drafts: bool) -> Self {
        let rows = match (drafts, self.drafts) {
            (true, _) => self.rows.max(DRAFT_ROWS),
            (false, true) => self.sequences,
            (false, false) => self.rows,
        };
        Self { rows, drafts, ..self }
    }

    /// The same with the whole context at once.
    pub fn whole(self) -> Self {
        Self { allocated: self.context, ..self }
    }
}

/// As [`Room::one`].
impl From<usize> for Room {
    fn from(context: usize) -> Self {
        Self::one(context)
    }
}

/// All buffers of a run besides the weights.
#[derive(Debug, Clone)]
pub struct Buffers {
    /// What they have room for.
    pub room: Room,
    /// Rows of the largest pass.
    pub chunk: usize,
    /// The [`Pass`] of up to so many rows.
    pub pass: Slice,
    /// Where heads turn by other positions than the pass's, up to which they see: a [`Pass`] with these. They are one
    /// behind where a block is `held`.
    pub turned: Option<Slice>,
    /// The inputs of a batch; of use to embedders alone.
    pub inputs: Inputs,
    /// What the caller writes; of use to encoders alone.
    pub tables: Option<Tables>,
    /// RoPE frequencies of each of the program's tables, see [`crate::kernels::rope_kv::frequency_table`].
    pub frequencies: Vec<Slice>,
    /// Bound where a kernel's variant does not read a binding.
    pub dummy: Slice,
    /// Where the activations of each part are.
    pub places: AllPlaces,
    /// `[rows of a decode pass, vocab]`
    pub logits: Slice,
    /// One row of the residual stream: in decode it moves between its place and this, see
    /// [`Prologue::Update`](crate::kernels::prologue::Prologue::Update).
    pub spare: Slice,
    /// Of the pass.
    pub scratch: Scratch,
    /// By number.
    pub cache: Vec<LayerCache>,
    /// Recurrent states, `[sequences, …]` f32: by number.
    pub states: Vec<Slice>,
    /// Copies of them all, by slot.
    pub checkpoints: Vec<Vec<Slice>>,
    /// Of passes with drafts; `None` without recurrent states.
    pub replay: Option<Replay>,
    /// Where the model predicts the token after the next, and passes may have drafts.
    pub next: Option<Next>,
    /// Where one pass of a block drafts several tokens, in place of `next`.
    pub whole: Option<Whole>,
    /// Of the sampler.
    pub sample: SampleBuffers,
    /// How much of each adapter the sequences have, see [`crate::kernels::lora::scale_words`].
    pub scales: Slice,
    /// Where the model attends to a source.
    pub source: Option<Source>,
}

impl Buffers {
    /// Allocates the buffers of a run of a model with `vocab` tokens.
    pub fn alloc(program: &Program, vocab: usize, room: Room, plan: &mut Plan) -> Self {
        Self::with_chunk(program, vocab, room, (room.context.min(CHUNK).max(room.rows), 0), plan)
    }

    /// Allocates the buffers of an embedder, for batches of up to `rows` rows: nothing is sampled. An encoder of sounds
    /// that arrive has caches: rings, since it hears without end.
    pub fn for_batches(program: &Program, rows: usize, plan: &mut Plan) -> Self {
        let room = if program.hears_on() { Room::one(i32::MAX as usize) } else { Room::one(rows) };
        Self::with_chunk(program, 1, room, (rows, rows), plan)
    }

    fn with_chunk(
        program: &Program,
        vocab: usize,
        room: Room,
        (chunk, inputs): (usize, usize),
        plan: &mut Plan,
    ) -> Self {
        let logits = plan.words("logits", room.rows * vocab);
        let places = activations::place(program, chunk, logits, plan);
        let cache = layer_caches(program, room, plan);
        let state_bytes: usize = program.states().iter().map(|values| values * room.sequences * 4).sum();
        let checkpoints = checkpoint_slots(state_bytes as u64);
        let (next, whole) = blocks(program, (room, chunk), logits, plan);
        let replay = (room.drafts && state_bytes > 0).then(|| Replay {
            places: activations::place_inputs_of_states(program, DRAFT_ROWS, &places, plan),
            states: states("state before a draft", program, room, plan),
        });
        Self {
            room,
            chunk,
            pass: plan.alloc("pass", Pass::bytes_of(chunk.max(CHUNK))).into(),
            turned: None,
            inputs: Inputs {
                spans: plan.words("inputs", inputs * 2),
                pass: plan.alloc("pass of inputs", Pass::bytes_of(inputs)).into(),
            },
            tables: (program.output == Output::Rows).then(|| Tables::of(program, chunk, plan)),
            frequencies: program
                .rope_tables
                .iter()
                .map(|table| plan.words("rope frequencies", frequency_words(table, room)))
                .collect(),
            dummy: plan.words("unused binding", 64),
            places,
            logits,
            spare: plan.words("updated x", widest_residual(program)),
            scratch: scratch(program, (room, chunk), plan),
            cache,
            states: states("state", program, room, plan),
            checkpoints: (0..checkpoints).map(|_| states("checkpoint of state", program, room, plan)).collect(),
            replay,
            next,
            whole,
            sample: SampleBuffers {
                stops: plan.words("end-of-generation ids", MAX_STOPS + 1),
                partial_argmaxes: plan
                    .alloc("partial argmaxes", room.rows as u64 * partial_argmax_bytes(vocab as u32))
                    .into(),
                scratch: plan.alloc("sampling scratch", room.rows as u64 * scratch_bytes(vocab as u32)).into(),
                options: plan.alloc("sampling options", (room.sequences * size_of::<Options>()) as u64).into(),
                mask: plan.words("allowed ids", room.sequences * mask_words(vocab as u32)),
                biases: plan.words("logit biases", room.sequences * logit_bias::WORDS),
                counts: plan.words("token counts", room.sequences * vocab),
                drafts: Drafts {
                    text: plan.words("text of drafts", words_of_texts(room.drafts, [room.sequences, room.context])),
                    report: plan.alloc("report of a draft", bytes_of_reports(room.sequences)).into(),
                    kept: plan.alloc("accepted rows", Pass::bytes_of(DRAFT_ROWS)).into(),
                },
            },
            scales: plan.words("scales of adapters", lora::WORDS),
            source: Source::alloc(program, room, plan),
        }
    }

    /// Positions that a session may go back, `usize::MAX` for any: a ring has lost what lies further back than its
    /// capacity, and the first row after it needs a window of it.
    pub fn rewindable(&self) -> usize {
        let rings = self.cache.iter().filter(|layer| layer.heads.ring);
        rings.map(|layer| layer.heads.capacity as usize - layer.window).min().unwrap_or(usize::MAX)
    }

    /// Whether a block of the model drafts.
    pub fn has_block(&self) -> bool {
        self.next.is_some() || self.whole.is_some()
    }

    /// The buffers through which a sampler commits a token.
    pub fn commit(&self) -> Commit {
        Commit { stops: self.sample.stops, pass: self.pass, is_draft: false }
    }
}

/// What a block that drafts needs, step by step or at once.
fn blocks(program: &Program, of: (Room, usize), logits: Slice, plan: &mut Plan) -> (Option<Next>, Option<Whole>) {
    match program.next.as_deref().filter(|_| of.0.drafts).map(|next| next.drafted.masks) {
        None => (None, None),
        Some(None) => (Next::alloc(program, of, logits, plan), None),
        Some(Some(_)) => (None, Whole::alloc(program, of.0, logits, plan)),
    }
}

/// Values of a row of the residual stream, of the model or of its block that drafts.
fn widest_residual(program: &Program) -> usize {
    let next = program.next.as_deref();
    [program].into_iter().chain(next).map(|of| of.width(of.residual())).max().unwrap_or(0)
}

/// Whether passes of a model may have drafts: no row of them waits for the host.
pub fn takes_drafts(weights: &Weights) -> bool {
    weights.row_cache.is_none()
}

fn frequency_words(table: &RopeTable, room: Room) -> usize {
    match room.axes && table.sections.is_some() {
        true => Axes { pairs: table.dims / 2 }.words(room.context),
        false => table.dims.max(2),
    }
}

/// A layer with a window keeps what a chunk's first row still sees, and the chunk.
fn ring_capacity(spec: &AttentionSpec, context: usize) -> Option<usize> {
    spec.window.map(|window| window.saturating_add(CHUNK)).filter(|&capacity| capacity < context)
}

fn layer_caches(program: &Program, room: Room, plan: &mut Plan) -> Vec<LayerCache> {
    (0..).zip(&program.attentions()).map(|(number, spec)| layer_cache(number, spec, room, plan)).collect()
}

fn layer_cache(number: usize, spec: &AttentionSpec, room: Room, plan: &mut Plan) -> LayerCache {
    let Room { context, allocated, sequences, kv_type, .. } = room;
    let ring = ring_capacity(spec, context);
    let heads = Heads {
        heads: spec.heads as u32,
        kv_heads: spec.kv_heads as u32,
        head_dim: spec.head_dim as u32,
        capacity: ring.unwrap_or(allocated) as u32,
        ring: ring.is_some(),
        kv_type,
    };
    let cache = Cache {
        k: plan.alloc(format!("layer {number} keys"), heads.cache_bytes(sequences as u32)).into(),
        v: plan.alloc(format!("layer {number} values"), heads.cache_bytes(sequences as u32)).into(),
    };
    LayerCache { heads, window: spec.window.unwrap_or(context), cache }
}

/// A buffer for each recurrent state.
fn states(label: &str, program: &Program, room: Room, plan: &mut Plan) -> Vec<Slice> {
    let states = program.states().into_iter().enumerate();
    states.map(|(number, values)| plan.words(format!("{label} {number}"), values * room.sequences)).collect()
}

fn scratch(program: &Program, (room, rows): (Room, usize), plan: &mut Plan) -> Scratch {
    let count = split_count(room.context as u32);
    let heads = program.cached_attentions().map(|spec| spec.heads).max().unwrap_or(0);
    let queries = program.cached_attentions().map(AttentionSpec::query_width).max().unwrap_or(0);
    let input = |op: &Op| match op {
        Op::Linear { x, .. } => program.width(*x),
        _ => 0,
    };
    let widest = program.all_ops().map(input).max().unwrap_or(0);
    let products = |op: &Op| match op {
        Op::Scan { scan, .. } => scan.shape().products_len(rows),
        _ => 0,
    };
    let splits = Splits {
        count,
        partial: plan.words("attention partials", room.rows * queries * count as usize),
        stats: plan.words("attention stats", room.rows * heads * count as usize * 2),
    };
    // In f16, of whole blocks; 8 bits take half of it, and more scales.
    let rounded = plan.words("rounded activations", rows * widest.next_multiple_of(32) / 2);
    let scales = plan.words("scales of rounded activations", rows * widest.div_ceil(32) * 4);
    Scratch {
        q: plan.words("q", rows * queries),
        quants: Quants { q: rounded, scales },
        halves: Halves { x: rounded, scales },
        splits,
        products: plan.words("products of a scan", program.layers.iter().flatten().map(products).max().unwrap_or(0)),
        experts: ExpertScratch::alloc(program, rows, plan),
    }
}
