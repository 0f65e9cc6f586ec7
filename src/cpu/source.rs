//! The source of a decoder that attends to a text of its own: its rows, and what the layers make of them.

use std::rc::Rc;

use crate::cpu::embed::Input;
use crate::cpu::interpreter::Interpreter;
use crate::cpu::{CacheFormat, CpuModel};
use crate::error::{Error, Result};
use crate::kernels::reference::{AttentionShape, attention};
use crate::model::program::{Activation, AttentionSpec};
use crate::model::{Places, WeightKey};

/// Keys and values of a layer, `[rows, heads, head_dim]` each.
type KeysAndValues = Rc<[Vec<f32>; 2]>;

/// What the encoder gave for a text.
#[derive(Debug, Clone, Default)]
pub(super) struct Source {
    /// `[rows, hidden]`; empty before the first source.
    rows: Rc<Vec<f32>>,
    /// By the number of the layer; `None` before it has run.
    kv: Vec<Option<KeysAndValues>>,
    /// Rows that are added to the tokens of the next pass.
    pub(super) beside: Vec<f32>,
}

impl CpuModel {
    /// Reads the source that the following tokens attend to, and forgets all tokens. `yield_now` is awaited every
    /// millisecond or two; once `is_over` the work ends without a source, and gives false.
    ///
    /// # Errors
    /// `invalid_argument` for a model without an encoder, for no ids, and for ids outside the vocabulary.
    pub async fn read_source(
        &mut self,
        ids: &[u32],
        yield_now: impl AsyncFnMut(),
        is_over: &dyn Fn() -> bool,
    ) -> Result<bool> {
        let Some(program) = self.program.source.as_deref().cloned() else {
            return Err(Error::invalid_argument("the model has no encoder that reads a source"));
        };
        if let Some(id) = ids.iter().find(|&&id| id as usize >= self.config.vocab) {
            return Err(Error::invalid_argument(format!("token id {id} in a vocabulary of {}", self.config.vocab)));
        }
        self.go_to(0);
        self.source = Source::default();
        let mut encoder = Self {
            config: self.config.clone(),
            program,
            weights: self.weights.clone(),
            input_rows: Rc::default(),
            adapters: Rc::new([]),
            frequencies: Vec::new(),
            cache: Vec::new(),
            cached: 0,
            forgotten: 0,
            places: Places::default(),
            context_length: self.context_length,
            format: CacheFormat::F32,
            states: Vec::new(),
            states_at: None,
            source: Source::default(),
        };
        let rows = encoder.embed(Input::Source(ids), yield_now, is_over).await?;
        self.source.rows = rows.unwrap_or_default().into();
        Ok(!self.source.rows.is_empty())
    }
}

impl CpuModel {
    /// The rows that are added to the embeddings of the tokens of the next pass, the first ones of several.
    pub fn put_beside(&mut self, rows: &[f32]) {
        self.source.beside = rows.to_vec();
    }
}

impl Interpreter<'_> {
    /// Attention to all rows of the source. Its keys and values are computed when the layer runs for the first time.
    pub(super) async fn attend_source(
        &mut self,
        [q, y]: [Activation; 2],
        (kv, spec): ([WeightKey; 2], &AttentionSpec),
        number: usize,
        yield_now: &mut impl AsyncFnMut(),
    ) -> Result<()> {
        let of_layer = self.source.kv.get(number).cloned().flatten();
        let of_layer = match of_layer {
            Some(known) => known,
            None => self.keys_and_values(kv, number, yield_now).await?,
        };
        let [keys, values] = &*of_layer;
        let last = keys.len() / spec.kv_width() - 1;
        let sizes = AttentionShape::plain([spec.heads, spec.kv_heads, spec.head_dim], last);
        let shape = AttentionShape { scale: spec.scale, ..sizes };
        let mut out = self.run.take(y);
        let width = spec.query_width();
        for (q, out) in self.run.values[q.0].chunks_exact(width).zip(out.chunks_exact_mut(width)) {
            attention(shape, q, keys, values, out);
            yield_now().await;
        }
        self.run.put(y, out);
        Ok(())
    }

    async fn keys_and_values(
        &mut self,
        kv: [WeightKey; 2],
        number: usize,
        yield_now: &mut impl AsyncFnMut(),
    ) -> Result<KeysAndValues> {
        let rows = self.source.rows.clone();
        if rows.is_empty() {
            return Err(Error::invalid_argument("the model attends to a source, and has read none"));
        }
        let mut made = [Vec::new(), Vec::new()];
        for (weight, made) in kv.into_iter().zip(&mut made) {
            let tensor = self.weights.tensor(weight);
            made.resize(rows.len() / tensor.cols() * tensor.rows(), 0.0);
            tensor.apply(&rows, made, yield_now).await?;
        }
        let made: KeysAndValues = made.into();
        let count = self.source.kv.len().max(number + 1);
        self.source.kv.resize(count, None);
        self.source.kv[number] = Some(made.clone());
        Ok(made)
    }
}
