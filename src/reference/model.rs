//! The whole model on the CPU: the kernels in the order of the paper, one layer per step.

use super::cache::{CacheFormat, LayerCache};
use super::weights::{CpuModelBuilder, Layer, Weights};
use super::{AttentionShape, attention, frequencies, gather, rms_norm, rope, swiglu};
use crate::config::ModelConfig;
use crate::error::{Error, ErrorCode, Result};
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
    weights: Weights,
    /// Radians per position for each rotated pair.
    frequencies: Vec<f64>,
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
        let factors = weights.rope_freqs.as_deref();
        let frequencies = frequencies(config.rope_dims, config.rope_theta, config.rope_scale, factors);
        let cache = (0..config.layers).map(|_| LayerCache::new(format)).collect();
        Self { config, weights, frequencies, cache, cached: 0, context_length }
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
        let run = Activations::new(&self.config, ids.len().min(CHUNK));
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
        if self.layer < self.model.config.layers {
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
        &self.run.residual
    }

    fn embed(&mut self) -> Result<()> {
        let left = self.ids.len() - self.done;
        self.run.resize(&self.model.config, left.min(CHUNK));
        let ids = &self.ids[self.done..][..self.run.tokens];
        gather(&self.model.weights.embedding.matrix(), ids, &mut self.run.residual)
    }

    async fn run_layer(&mut self, yield_now: &mut impl AsyncFnMut()) -> Result<()> {
        let CpuModel { config, weights, frequencies, cache, cached, .. } = &mut *self.model;
        let layer = &weights.layers[self.layer];
        self.run.project(config, layer, yield_now).await?;
        self.run.rotate(config, *cached, frequencies);
        self.run.attend(config, *cached, &mut cache[self.layer], yield_now).await?;
        layer.attn_out.apply(&self.run.attended, &mut self.run.update, yield_now).await?;
        self.run.add_update();
        self.run.feed_forward(config, layer, yield_now).await
    }

    /// The logits that are wanted from this chunk.
    async fn head(&mut self, yield_now: &mut impl AsyncFnMut()) -> Result<()> {
        let CpuModel { config, weights, .. } = &*self.model;
        let rows = match self.wanted {
            Logits::All => self.run.tokens,
            Logits::Last if self.done == self.ids.len() => 1,
            Logits::Last | Logits::None => return Ok(()),
        };
        let first = (self.run.tokens - rows) * config.hidden;
        let normed = &mut self.run.normed[first..];
        normed.copy_from_slice(&self.run.residual[first..]);
        rms_norm(normed, &weights.output_norm, config.rms_eps);
        let start = self.found.len();
        self.found.resize(start + rows * config.vocab, 0.0);
        weights.head().apply(normed, &mut self.found[start..], yield_now).await
    }
}

/// What flows between the kernels for one chunk of tokens; the token is the outermost dimension of each.
#[derive(Debug)]
struct Activations {
    tokens: usize,
    residual: Vec<f32>,
    normed: Vec<f32>,
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
    attended: Vec<f32>,
    gate: Vec<f32>,
    up: Vec<f32>,
    /// What is added to the residual stream next.
    update: Vec<f32>,
}

impl Activations {
    fn new(config: &ModelConfig, tokens: usize) -> Self {
        let zeros = |width: usize| vec![0.0; tokens * width];
        Self {
            tokens,
            residual: zeros(config.hidden),
            normed: zeros(config.hidden),
            q: zeros(config.query_width()),
            k: zeros(config.kv_width()),
            v: zeros(config.kv_width()),
            attended: zeros(config.query_width()),
            gate: zeros(config.ffn),
            up: zeros(config.ffn),
            update: zeros(config.hidden),
        }
    }

    /// For the last chunk of a prompt, which may be shorter.
    fn resize(&mut self, config: &ModelConfig, tokens: usize) {
        if tokens != self.tokens {
            *self = Self::new(config, tokens);
        }
    }

    /// Norm, queries, keys and values, and where the architecture has them the norms of each head.
    async fn project(&mut self, config: &ModelConfig, layer: &Layer, yield_now: &mut impl AsyncFnMut()) -> Result<()> {
        self.normed.copy_from_slice(&self.residual);
        rms_norm(&mut self.normed, &layer.attn_norm, config.rms_eps);
        layer.q.apply(&self.normed, &mut self.q, yield_now).await?;
        layer.k.apply(&self.normed, &mut self.k, yield_now).await?;
        layer.v.apply(&self.normed, &mut self.v, yield_now).await?;
        for (heads, norm) in [(&mut self.q, &layer.q_norm), (&mut self.k, &layer.k_norm)] {
            if let Some(norm) = norm {
                rms_norm(heads, norm, config.rms_eps);
            }
        }
        Ok(())
    }

    fn rotate(&mut self, config: &ModelConfig, position: usize, frequencies: &[f64]) {
        let (head_dim, style) = (config.head_dim, config.architecture.rope);
        let q = self.q.chunks_exact_mut(config.query_width());
        let k = self.k.chunks_exact_mut(config.kv_width());
        for (token, (q, k)) in q.zip(k).enumerate() {
            rope(q, head_dim, position + token, frequencies, style);
            rope(k, head_dim, position + token, frequencies, style);
        }
    }

    /// Token by token: with thousands of keys one takes milliseconds.
    async fn attend(
        &mut self,
        config: &ModelConfig,
        position: usize,
        cache: &mut LayerCache,
        yield_now: &mut impl AsyncFnMut(),
    ) -> Result<()> {
        let ModelConfig { heads, kv_heads, head_dim, .. } = *config;
        cache.write(position, config.kv_width(), &self.k, &self.v)?;
        let width = config.query_width();
        let tokens = self.q.chunks_exact(width).zip(self.attended.chunks_exact_mut(width));
        for (position, (q, attended)) in (position..).zip(tokens) {
            let shape = AttentionShape { heads, kv_heads, head_dim, position };
            match cache {
                LayerCache::F16(rows) => attention(shape, q, &rows.keys, &rows.values, attended),
                LayerCache::F32(rows) => attention(shape, q, &rows.keys, &rows.values, attended),
            }
            yield_now().await;
        }
        Ok(())
    }

    async fn feed_forward(
        &mut self,
        config: &ModelConfig,
        layer: &Layer,
        yield_now: &mut impl AsyncFnMut(),
    ) -> Result<()> {
        self.normed.copy_from_slice(&self.residual);
        rms_norm(&mut self.normed, &layer.ffn_norm, config.rms_eps);
        layer.gate.apply(&self.normed, &mut self.gate, yield_now).await?;
        layer.up.apply(&self.normed, &mut self.up, yield_now).await?;
        swiglu(&mut self.gate, &self.up);
        layer.down.apply(&self.gate, &mut self.update, yield_now).await?;
        self.add_update();
        Ok(())
    }

    fn add_update(&mut self) {
        self.residual.iter_mut().zip(&self.update).for_each(|(residual, update)| *residual += update);
    }
}
