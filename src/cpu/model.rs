//! The whole model on the CPU: its program, interpreted operation by operation, one layer per step.

use std::ops::Range;
use std::rc::Rc;

use crate::cpu::adapters::ActiveAdapter;
use crate::cpu::frequencies::scaled_frequencies;
use crate::cpu::interpreter::{Activations, Interpreter};
use crate::cpu::source::Source;
use crate::cpu::weights::{CpuModelBuilder, Weights};
use crate::error::{Error, ErrorCode, Result};
use crate::kernels::kv_type::KvType;
use crate::kernels::kv_type::cache::{CacheFormat, LayerCache};
use crate::model::program::{Op, Output, Program};
use crate::model::{
    InputRows, InputRun, Item, ModelConfig, Places, WeightKey, WholeImages, end_with_images, whole_images,
};
use crate::yielding::{at_once, none};

/// Tokens that go through a layer together: each weight is dequantised once for all of them.
const CHUNK: usize = 32;

/// For which of the given tokens logits are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logits {
    /// For none: only the cache is filled.
    None,
    /// For the last one.
    Last,
    /// For each.
    All,
}

/// A model that runs without a GPU. Weights stay in the file's block formats; the KV cache is inside. A clone has the
/// same weights and a cache of its own.
#[derive(Debug, Clone)]
pub struct CpuModel {
    pub(super) config: ModelConfig,
    pub(super) program: Program,
    pub(super) weights: Rc<Weights>,
    pub(super) input_rows: Rc<InputRows<Vec<f32>>>,
    /// At work in the text that is read or written.
    pub(super) adapters: Rc<[ActiveAdapter]>,
    /// Radians per position for each rotated pair, by rope table.
    pub(super) frequencies: Vec<Vec<f64>>,
    pub(super) cache: Vec<LayerCache>,
    pub(super) cached: usize,
    pub(super) forgotten: usize,
    /// Positions with several axes, where the model has sections for them.
    pub(super) places: Places,
    pub(super) context_length: usize,
    pub(super) format: CacheFormat,
    pub(super) states: Vec<Vec<f32>>,
    /// Tokens that the states have seen; `None` while a pass is at work on them.
    pub(super) states_at: Option<usize>,
    /// What a decoder attends to beside its own text.
    pub(super) source: Source,
}

impl CpuModel {
    /// Starts a model: put every tensor, then build.
    pub fn builder(config: ModelConfig) -> CpuModelBuilder {
        CpuModelBuilder::new(config)
    }

    pub(super) fn new(config: ModelConfig, weights: Weights, context_length: usize, format: CacheFormat) -> Self {
        let program = crate::model::program(&config);
        let frequencies = program.rope_tables.iter().map(|table| {
            let factors = table.factors.and_then(|of| weights.vector(of.for_context(context_length)));
            let found = scaled_frequencies(table, factors).into_iter().enumerate();
            found.map(|(pair, of)| if table.turns(pair) { of } else { 0.0 }).collect()
        });
        let frequencies = frequencies.collect();
        let cache = program.attentions().iter().map(|_| LayerCache::new(format)).collect();
        let states = program.states().into_iter().map(|values| vec![0.0; values]).collect();
        Self {
            config,
            program,
            weights: weights.into(),
            input_rows: Rc::default(),
            adapters: Rc::new([]),
            frequencies,
            cache,
            cached: 0,
            forgotten: 0,
            places: Places::default(),
            context_length,
            format,
            states,
            states_at: None,
            source: Source::default(),
        }
    }

    /// The program, and what runs its operations on these activations.
    pub(super) fn interpreter<'a>(
        &'a mut self,
        run: &'a mut Activations,
        ids: &'a [u32],
    ) -> (&'a Program, Interpreter<'a>) {
        let Self { program, weights, adapters, frequencies, cache, cached, forgotten, places, states, source, .. } =
            self;
        let tables = &program.rope_tables;
        (
            program,
            Interpreter {
                run,
                ids,
                weights,
                adapters,
                tables,
                frequencies,
                cache,
                states,
                position: *cached,
                forgotten: *forgotten,
                places,
                seen: 0..0,
                seen_in_windows: false,
                input: None,
                rotated: None,
                switch: program.switch.as_deref(),
                source,
            },
        )
    }

    /// The program of the model.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The weight of a norm of the program.
    pub fn norm_weight(&self, key: WeightKey) -> &[f32] {
        self.weights.norm(key)
    }

    /// The rows that its prompts may hold, those of all its clones.
    pub fn input_rows(&self) -> &InputRows<Vec<f32>> {
        &self.input_rows
    }

    /// The tokens that come next are run with these adapters of the model.
    pub fn set_adapters(&mut self, adapters: Vec<ActiveAdapter>) {
        self.adapters = adapters.into();
    }

    /// The numbers of the model.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// The most tokens that fit the cache.
    pub fn context_length(&self) -> usize {
        self.context_length
    }

    /// The type of keys and values in the cache.
    pub fn kv_type(&self) -> KvType {
        match self.format {
            CacheFormat::Rounded(kv_type) => kv_type,
            CacheFormat::F32 => KvType::F16,
        }
    }

    /// How many tokens the cache holds now: the largest position that may come next.
    pub fn cached(&self) -> usize {
        self.cached
    }

    /// All recurrent states, by number; empty for a model without.
    pub fn states(&self) -> &[Vec<f32>] {
        &self.states
    }

    /// Tokens that they have seen; `None` after a pass that was given up half-way.
    pub fn states_at(&self) -> Option<usize> {
        self.states_at
    }

    /// Sets the position of the next token and forgets later ones.
    pub(super) fn go_to(&mut self, position: usize) {
        self.cached = position;
        if position == 0 {
            self.states.iter_mut().for_each(|state| state.fill(0.0));
        }
    }

    /// Brings back recurrent states as they were at `position`, which must be cached.
    pub fn restore(&mut self, states: &[Vec<f32>], position: usize) {
        self.states.clone_from_slice(states);
        self.states_at = Some(position);
        self.cached = self.cached.min(position);
    }

    /// Runs `ids` as the tokens at `position` and after, in one go; see [`CpuModel::begin`]. Gives the logits,
    /// `[vocab]` for [`Logits::Last`], `[ids, vocab]` for [`Logits::All`].
    ///
    /// # Errors
    /// As [`CpuModel::begin`] and [`Pass::step`].
    pub fn forward(&mut self, ids: &[u32], position: usize, logits: Logits) -> Result<Vec<f32>> {
        self.begin(ids, position, logits)?.finish()
    }

    /// Prepares to run `ids` as the tokens at `position` and after. The cache forgets what it held from there on, so a
    /// text is taken up again anywhere in what it shares with the last. An unfinished pass leaves the cache whole up to
    /// where it came.
    ///
    /// # Errors
    /// `invalid_argument` for no ids, an id outside the vocabulary, a position past what is cached, or one other than 0
    /// where recurrent states are not; `context_full` where the ids do not fit; `out_of_memory` where the logits do
    /// not.
    pub fn begin(&mut self, ids: &[u32], position: usize, logits: Logits) -> Result<Pass<'_>> {
        if self.program.output != Output::Logits {
            return Err(Error::invalid_argument("the model writes no text"));
        }
        if ids.is_empty() {
            return Err(Error::invalid_argument("no tokens to run"));
        }
        let is_known = |id: u32| (id as usize) < self.config.vocab || self.input_rows.knows(id);
        if let Some(id) = ids.iter().find(|&&id| !is_known(id)) {
            return Err(Error::invalid_argument(format!("token id {id} in a vocabulary of {}", self.config.vocab)));
        }
        if position > self.cached {
            return Err(Error::invalid_argument(format!("position {position} after {} cached tokens", self.cached)));
        }
        if position == 0 {
            self.states.iter_mut().for_each(|state| state.fill(0.0));
        } else if !self.states.is_empty() && self.states_at != Some(position) {
            let message = format!("position {position}, the recurrent states are at {:?}", self.states_at);
            return Err(Error::invalid_argument(message));
        }
        let needed = position + ids.len();
        if needed > self.context_length {
            let message = format!("{needed} tokens do not fit a context of {}", self.context_length);
            return Err(Error::new(ErrorCode::ContextFull, message));
        }
        let rows = match logits {
            Logits::None => 0,
            Logits::Last => 1,
            Logits::All => ids.len(),
        };
        let mut found = Vec::new();
        found.try_reserve_exact(rows.saturating_mul(self.config.vocab)).map_err(|_| {
            Error::new(ErrorCode::OutOfMemory, format!("no memory for {rows} times {} logits", self.config.vocab))
        })?;
        self.cached = position;
        if self.config.rope_sections.is_some() {
            self.places.extend(position, ids, &self.input_rows);
        }
        let run = Activations::new(&self.program, ids.len().min(CHUNK));
        let images = self.input_rows.whole_images(&self.config, ids);
        Ok(Pass { model: self, ids: ids.to_vec(), done: 0, layer: 0, wanted: logits, found, run, images, seen: 0..0 })
    }
}

/// Puts rows in the places of embeddings, once an operation has written these.
pub(super) fn enter_behind(op: &Op, program: &Program, runs: &[InputRun<Vec<f32>>], run: &mut Activations) {
    let y = op.writes();
    if y == program.residual() && matches!(op, Op::Embed { .. } | Op::Hadamard { .. }) {
        enter(runs, 0, &mut run.values[y.0], program.width(y));
    }
}

/// Puts rows in the places of embeddings: the first of their parts, or one for a deeper layer.
fn enter(runs: &[InputRun<Vec<f32>>], part: usize, embeddings: &mut [f32], width: usize) {
    for &InputRun { at, row, count, of, ref data } in runs {
        embeddings[at * width..][..count * width].copy_from_slice(&data[(part * of + row) * width..][..count * width]);
    }
}

/// A forward pass in progress. It advances a layer at a time, or in turns, so that a caller can let others run in
/// between.
#[derive(Debug)]
pub struct Pass<'a> {
    model: &'a mut CpuModel,
    ids: Vec<u32>,
    /// How many of the ids are through all layers.
    done: usize,
    /// The layer that comes next for the chunk after them; the number of layers when the head comes next.
    layer: usize,
    wanted: Logits,
    found: Vec<f32>,
    run: Activations,
    /// Images among the ids whose rows see each other.
    images: Vec<Range<usize>>,
    /// Positions of the one in the chunk.
    seen: Range<usize>,
}

impl Pass<'_> {
    /// Takes the chunk of tokens through one layer, or through the head. Returns whether more is to be done.
    ///
    /// # Errors
    /// `out_of_memory` where the cache cannot grow.
    pub fn step(&mut self) -> Result<bool> {
        at_once(self.step_yielding(none))
    }

    /// As [`Pass::step`], but awaits `turn` every millisecond or two: a layer of a large model takes half a second.
    ///
    /// # Errors
    /// As [`Pass::step`].
    pub async fn step_yielding(&mut self, mut yield_now: impl AsyncFnMut()) -> Result<bool> {
        if self.done == self.ids.len() {
            return Ok(false);
        }
        if self.layer < self.model.program.layers.len() {
            if self.layer == 0 {
                self.model.states_at = None;
                self.embed(&mut yield_now).await?;
            }
            self.run_layer(&mut yield_now).await?;
            self.layer += 1;
            return Ok(true);
        }
        self.model.cached += self.run.tokens;
        self.model.states_at = Some(self.model.cached);
        self.done += self.run.tokens;
        self.layer = 0;
        self.head(&mut yield_now).await?;
        Ok(self.done < self.ids.len())
    }

    /// How many of the ids are read.
    pub fn read(&self) -> usize {
        self.done
    }

    /// Takes all steps that are left and gives the logits, a row of `[vocab]` for each token they were wanted for.
    ///
    /// # Errors
    /// As [`Pass::step`].
    pub fn finish(mut self) -> Result<Vec<f32>> {
        while self.step()? {}
        Ok(self.into_logits())
    }

    /// The logits of the steps taken so far.
    pub fn into_logits(self) -> Vec<f32> {
        self.found
    }

    /// The residual stream `[tokens, hidden]` of the chunk after the last step, before the norm: a tap for tests.
    pub fn residual(&self) -> &[f32] {
        &self.run.values[self.model.program.residual().0]
    }

    async fn embed(&mut self, yield_now: &mut impl AsyncFnMut()) -> Result<()> {
        let left = self.ids.len() - self.done;
        let images = &self.images;
        let end = end_with_images(self.done, self.done + left.min(CHUNK), usize::MAX - self.done, images);
        self.run.resize(&self.model.program, end - self.done);
        let image = images.iter().find(|image| image.start < end && image.end > self.done);
        let position = |at: usize| self.model.cached + at - self.done;
        self.seen = image.map_or(0..0, |image| position(image.start.max(self.done))..position(image.end));
        let ids = &self.ids[self.done..][..self.run.tokens];
        let (tokens, input) = (Item::tokens(ids), self.model.input_rows.clone());
        let (program, mut interpreter) = self.model.interpreter(&mut self.run, &tokens);
        for op in &program.embed {
            interpreter.run(op, yield_now).await?;
            enter_behind(op, program, &input.runs(ids)?, interpreter.run);
        }
        for (deep, x) in program.inputs().into_iter().enumerate() {
            interpreter.run.values[x.0].fill(0.0);
            enter(&input.runs(ids)?, 1 + deep, &mut interpreter.run.values[x.0], program.width(x));
        }
        Ok(())
    }

    async fn run_layer(&mut self, yield_now: &mut impl AsyncFnMut()) -> Result<()> {
        let whole_images = whole_images(&self.model.config);
        let (program, mut interpreter) = self.model.interpreter(&mut self.run, &[]);
        interpreter.seen = self.seen.clone();
        interpreter.seen_in_windows = whole_images == WholeImages::InWindows;
        for op in &program.layers[self.layer] {
            interpreter.run(op, yield_now).await?;
        }
        interpreter.steer(self.layer, program.residual());
        Ok(())
    }

    /// The logits that are wanted from this chunk.
    async fn head(&mut self, yield_now: &mut impl AsyncFnMut()) -> Result<()> {
        let rows = match self.wanted {
            Logits::All => self.run.tokens,
            Logits::Last if self.done == self.ids.len() => 1,
            Logits::Last | Logits::None => return Ok(()),
        };
        let mut run = self.run.last(rows, &self.model.program);
        let (program, mut interpreter) = self.model.interpreter(&mut run, &[]);
        interpreter.position -= rows;
        for op in &program.head {
            interpreter.run(op, yield_now).await?;
        }
        let logits = program.head.last().map_or(program.residual(), Op::writes);
        self.found.append(&mut run.values[logits.0]);
        Ok(())
    }
}
