//! The whole model on the CPU: its program, interpreted operation by operation, one layer per step.

use super::cache::{CacheFormat, LayerCache};
use super::weights::{CpuModelBuilder, Weights};
use super::{AttentionShape, attention, frequencies, gather, geglu, rms_norm, rope, swiglu};
use crate::error::{Error, ErrorCode, Result};
use crate::model::program::{Activation, AttentionSpec, Op, Program, RopeTable};
use crate::model::{GateKind, ModelConfig};
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

/// A model that runs without a GPU. Weights stay in the file's block formats; the KV cache is inside.
#[derive(Debug)]
pub struct CpuModel {
    config: ModelConfig,
    program: Program,
    weights: Weights,
    /// Radians per position for each rotated pair, by rope table.
    frequencies: Vec<Vec<f64>>,
    cache: Vec<LayerCache>,
    cached: usize,
    context_length: usize,
}

impl CpuModel {
    /// Starts a model: put every tensor, then build.
    pub fn builder(config: ModelConfig) -> CpuModelBuilder {
        CpuModelBuilder::new(config)
    }

    pub(super) fn new(config: ModelConfig, weights: Weights, context_length: usize, format: CacheFormat) -> Self {
        let program = crate::model::program(&config);
        let frequencies = program.rope_tables.iter().map(|table| {
            let factors = table.factors.and_then(|key| weights.vector(key));
            frequencies(table.dims, table.theta, table.scale, factors)
        });
        let frequencies = frequencies.collect();
        let cache = program.attentions().iter().map(|_| LayerCache::new(format)).collect();
        Self { config, program, weights, frequencies, cache, cached: 0, context_length }
    }

    /// The numbers of the model.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// The most tokens that fit the cache.
    pub fn context_length(&self) -> usize {
        self.context_length
    }

    /// How many tokens the cache holds now: the largest position that may come next.
    pub fn cached(&self) -> usize {
        self.cached
    }

    /// Runs `ids` as the tokens at `position` and after, in one go; see [`CpuModel::begin`]. Gives the logits,
    /// `[vocab]` for [`Logits::Last`], `[ids, vocab]` for [`Logits::All`].
    ///
    /// # Errors
    /// Those of [`CpuModel::begin`] and [`Pass::step`].
    pub fn forward(&mut self, ids: &[u32], position: usize, logits: Logits) -> Result<Vec<f32>> {
        self.begin(ids, position, logits)?.finish()
    }

    /// Prepares to run `ids` as the tokens at `position` and after. The cache forgets what it held from there on, so a
    /// text is taken up again anywhere in what it shares with the last. An unfinished pass leaves the cache whole up to
    /// where it came.
    ///
    /// # Errors
    /// `invalid_argument` for no ids, an id outside the vocabulary, or a position past what is cached; `context_full`
    /// where the ids do not fit; `out_of_memory` where the logits do not.
    pub fn begin(&mut self, ids: &[u32], position: usize, logits: Logits) -> Result<Pass<'_>> {
        if ids.is_empty() {
            return Err(Error::invalid_argument("no tokens to run"));
        }
        if let Some(id) = ids.iter().find(|&&id| id as usize >= self.config.vocab) {
            return Err(Error::invalid_argument(format!("token id {id} in a vocabulary of {}", self.config.vocab)));
        }
        if position > self.cached {
            return Err(Error::invalid_argument(format!("position {position} after {} cached tokens", self.cached)));
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
        let run = Activations::new(&self.program, ids.len().min(CHUNK));
        Ok(Pass { model: self, ids: ids.to_vec(), done: 0, layer: 0, wanted: logits, found, run })
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
    /// Those of [`Pass::step`].
    pub async fn step_yielding(&mut self, mut yield_now: impl AsyncFnMut()) -> Result<bool> {
        if self.done == self.ids.len() {
            return Ok(false);
        }
        if self.layer < self.model.program.layers.len() {
            if self.layer == 0 {
                self.embed()?;
            }
            self.run_layer(&mut yield_now).await?;
            self.layer += 1;
            return Ok(true);
        }
        self.model.cached += self.run.tokens;
        self.done += self.run.tokens;
        self.layer = 0;
        self.head(&mut yield_now).await?;
        Ok(self.done < self.ids.len())
    }

    /// Takes all steps that are left and gives the logits, a row of `[vocab]` for each token they were wanted for.
    ///
    /// # Errors
    /// Those of [`Pass::step`].
    pub fn finish(mut self) -> Result<Vec<f32>> {
        while self.step()? {}
        Ok(self.into_logits())
    }

    /// The logits of the steps taken so far.
    pub fn into_logits(self) -> Vec<f32> {
        self.found
    }

    /// The residual stream `[tokens, hidden]` after the last step: a tap for tests. The tokens are those of the chunk,
    /// at most 32, and after the head they are still those before the norm.
    pub fn residual(&self) -> &[f32] {
        &self.run.values[self.model.program.residual().0]
    }

    fn embed(&mut self) -> Result<()> {
        let left = self.ids.len() - self.done;
        let CpuModel { program, weights, .. } = &*self.model;
        self.run.resize(program, left.min(CHUNK));
        let ids = &self.ids[self.done..][..self.run.tokens];
        for op in &program.embed {
            let Op::Embed { table, scale, y } = op else { continue };
            let y = &mut self.run.values[y.0];
            gather(&weights.tensor(*table).matrix(), ids, y)?;
            y.iter_mut().for_each(|x| *x *= scale);
        }
        Ok(())
    }

    async fn run_layer(&mut self, yield_now: &mut impl AsyncFnMut()) -> Result<()> {
        let CpuModel { program, weights, frequencies, cache, cached, .. } = &mut *self.model;
        let (tables, position) = (&program.rope_tables, *cached);
        let mut interpreter = Interpreter { run: &mut self.run, weights, tables, frequencies, cache, position };
        for op in &program.layers[self.layer] {
            interpreter.run(op, yield_now).await?;
        }
        Ok(())
    }

    /// The logits that are wanted from this chunk.
    async fn head(&mut self, yield_now: &mut impl AsyncFnMut()) -> Result<()> {
        let rows = match self.wanted {
            Logits::All => self.run.tokens,
            Logits::Last if self.done == self.ids.len() => 1,
            Logits::Last | Logits::None => return Ok(()),
        };
        let CpuModel { program, weights, frequencies, cache, cached, .. } = &mut *self.model;
        let mut run = self.run.last(rows, program);
        let (tables, position) = (&program.rope_tables, *cached);
        let mut interpreter = Interpreter { run: &mut run, weights, tables, frequencies, cache, position };
        for op in &program.head {
            interpreter.run(op, yield_now).await?;
        }
        let logits = program.head.last().map_or(program.residual(), Op::writes);
        self.found.append(&mut run.values[logits.0]);
        Ok(())
    }
}

/// The activations of a chunk of tokens, by number; the token is the outermost dimension of each.
#[derive(Debug)]
struct Activations {
    tokens: usize,
    values: Vec<Vec<f32>>,
}

impl Activations {
    /// Zeros for what the layers use; the head makes its own.
    fn new(program: &Program, tokens: usize) -> Self {
        let mut values = vec![Vec::new(); program.activations.len()];
        for op in program.embed.iter().chain(program.layers.iter().flatten()) {
            let y = op.writes();
            values[y.0].resize(tokens * program.width(y), 0.0);
        }
        Self { tokens, values }
    }

    /// For the last chunk of a prompt, which may be shorter.
    fn resize(&mut self, program: &Program, tokens: usize) {
        if tokens != self.tokens {
            *self = Self::new(program, tokens);
        }
    }

    /// The last rows of the residual stream, and room for what the head computes from them.
    fn last(&self, rows: usize, program: &Program) -> Self {
        let mut values = vec![Vec::new(); program.activations.len()];
        for op in &program.head {
            let y = op.writes();
            values[y.0].resize(rows * program.width(y), 0.0);
        }
        let x = program.residual();
        values[x.0] = self.values[x.0][(self.tokens - rows) * program.width(x)..].to_vec();
        Self { tokens: rows, values }
    }

    /// Takes an activation out, to be written while others are read; [`Activations::put`] brings it back.
    fn take(&mut self, y: Activation) -> Vec<f32> {
        std::mem::take(&mut self.values[y.0])
    }

    fn put(&mut self, y: Activation, values: Vec<f32>) {
        self.values[y.0] = values;
    }
}

/// Runs operations on the activations of a chunk.
struct Interpreter<'a> {
    run: &'a mut Activations,
    weights: &'a Weights,
    tables: &'a [RopeTable],
    frequencies: &'a [Vec<f64>],
    cache: &'a mut [LayerCache],
    /// Of the chunk's first token.
    position: usize,
}

impl Interpreter<'_> {
    async fn run(&mut self, op: &Op, yield_now: &mut impl AsyncFnMut()) -> Result<()> {
        match *op {
            Op::Embed { .. } => {}
            Op::Norm { x, norm, y } => {
                let mut out = self.run.take(y);
                if x != y {
                    out.copy_from_slice(&self.run.values[x.0]);
                }
                rms_norm(&mut out, self.weights.norm(norm.weight), norm.eps);
                self.run.put(y, out);
            }
            Op::Linear { x, weight, bias, y } => {
                let mut out = self.run.take(y);
                self.weights.tensor(weight).apply(&self.run.values[x.0], &mut out, yield_now).await?;
                if let Some(bias) = bias.and_then(|bias| self.weights.vector(bias.key)) {
                    let rows = out.chunks_exact_mut(bias.len());
                    rows.flat_map(|row| row.iter_mut().zip(bias)).for_each(|(out, bias)| *out += bias);
                }
                self.run.put(y, out);
            }
            Op::Rope { x, head_dim, table } => self.rotate(x, head_dim, table),
            Op::Attend { qkv, attention, cache, y } => self.attend(qkv, &attention, cache, y, yield_now).await?,
            Op::Gate { gate, up, kind, y } => {
                let mut out = self.run.take(y);
                out.copy_from_slice(&self.run.values[gate.0]);
                match kind {
                    GateKind::SwiGlu => swiglu(&mut out, &self.run.values[up.0]),
                    GateKind::GeGlu => geglu(&mut out, &self.run.values[up.0]),
                }
                self.run.put(y, out);
            }
            Op::Add { x, to } => {
                let mut sum = self.run.take(to);
                sum.iter_mut().zip(&self.run.values[x.0]).for_each(|(sum, x)| *sum += x);
                self.run.put(to, sum);
            }
            Op::SoftCap { x, cap } => self.run.values[x.0].iter_mut().for_each(|x| *x = cap * (*x / cap).tanh()),
        }
        Ok(())
    }

    fn rotate(&mut self, x: Activation, head_dim: usize, table: usize) {
        let values = &mut self.run.values[x.0];
        let width = values.len() / self.run.tokens;
        for (token, row) in values.chunks_exact_mut(width).enumerate() {
            rope(row, head_dim, self.position + token, &self.frequencies[table], self.tables[table].style);
        }
    }

    /// Token by token: with thousands of keys one takes milliseconds.
    async fn attend(
        &mut self,
        qkv: [Activation; 3],
        spec: &AttentionSpec,
        cache: usize,
        y: Activation,
        yield_now: &mut impl AsyncFnMut(),
    ) -> Result<()> {
        let AttentionSpec { heads, kv_heads, head_dim, scale, window, soft_cap } = *spec;
        let cache = &mut self.cache[cache];
        let mut out = self.run.take(y);
        let [q, k, v] = qkv.map(|of| &self.run.values[of.0]);
        cache.write(self.position, spec.kv_width(), k, v)?;
        let width = spec.query_width();
        for (token, (q, out)) in q.chunks_exact(width).zip(out.chunks_exact_mut(width)).enumerate() {
            let position = self.position + token;
            let shape = AttentionShape { heads, kv_heads, head_dim, position, scale, window, soft_cap };
            match cache {
                LayerCache::F16(rows) => attention(shape, q, &rows.keys, &rows.values, out),
                LayerCache::F32(rows) => attention(shape, q, &rows.keys, &rows.values, out),
            }
            yield_now().await;
        }
        self.run.put(y, out);
        Ok(())
    }
}
