//! Embedders and rerankers on either device: texts in, vectors or scores out. Encoders of images run here, too.

use std::cell::Cell;
use std::rc::Rc;

use super::gpu::embedder::GpuEmbedder;
use super::held_rows::HeldRows;
use crate::cpu::{CpuModel, Input};
use crate::kernels::reference::softmax;
use crate::model::program::Output;
use crate::model::{EncoderInput, ModelConfig};
use crate::time_slice::TimeSlice;
use crate::tokenizer::Tokenizer;
use crate::{Error, ErrorCode, Result};

/// How vectors are handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmbedOptions {
    /// Whether vectors are divided by their length, after they were shortened.
    pub normalize: bool,
    /// How many values of each vector are kept, from the first on; `None` keeps all (Kusupati et al. 2022,
    /// <https://arxiv.org/abs/2205.13147>).
    pub dimensions: Option<usize>,
}

/// A model on the CPU that gives one result for each input as a whole.
pub struct CpuEmbedder {
    model: CpuModel,
    time_slice: TimeSlice,
}

impl CpuEmbedder {
    /// Makes an embedder of this model.
    pub fn new(model: CpuModel) -> Self {
        Self { model, time_slice: TimeSlice::new() }
    }

    /// The model that it runs.
    pub(super) fn model(&self) -> &CpuModel {
        &self.model
    }

    async fn embed(&mut self, inputs: &[&[u32]], stop: &Cell<bool>) -> Result<Option<Vec<f32>>> {
        let Self { model, time_slice } = self;
        let mut found = Vec::new();
        for ids in inputs {
            let is_over = || stop.get();
            let Some(values) = model.embed(Input::Ids(ids), time_slice.turns(), &is_over).await? else {
                return Ok(None);
            };
            found.extend(values);
        }
        Ok(Some(found))
    }
}

/// An embedder on either device: chosen when the model is loaded.
pub enum AnyEmbedder {
    /// On WebGPU.
    Gpu(Box<GpuEmbedder>),
    /// On the CPU.
    Cpu(Box<CpuEmbedder>),
}

impl AnyEmbedder {
    /// The model's configuration.
    pub fn config(&self) -> &ModelConfig {
        match self {
            Self::Gpu(embedder) => embedder.config(),
            Self::Cpu(embedder) => embedder.model.config(),
        }
    }

    /// Maximum number of tokens of an input.
    pub fn context_length(&self) -> usize {
        match self {
            Self::Gpu(embedder) => embedder.context_length(),
            Self::Cpu(embedder) => embedder.model.context_length(),
        }
    }

    /// Encodes an image or a tile to rows `[outputs, width]`, followed by as many for each deeper layer that takes
    /// rows, whose bytes `take` gets in pieces; `false` where `stop` was set before it was done.
    ///
    /// # Errors
    /// The errors of [`EncoderInput::check`], and errors of the device.
    pub async fn encode(
        &mut self,
        input: &EncoderInput,
        stop: &Cell<bool>,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<bool> {
        match self {
            Self::Gpu(encoder) => encoder.encode(input, stop, take).await,
            Self::Cpu(encoder) => {
                let CpuEmbedder { model, time_slice } = &mut **encoder;
                let found = model.embed(Input::Image(input), time_slice.turns(), &|| stop.get()).await?;
                Ok(found.map(|rows| take(bytemuck::cast_slice(&rows))).is_some())
            }
        }
    }

    async fn run(&mut self, inputs: &[&[u32]], stop: &Cell<bool>) -> Result<Option<Vec<f32>>> {
        match self {
            Self::Gpu(embedder) => embedder.embed(inputs, stop).await,
            Self::Cpu(embedder) => embedder.embed(inputs, stop).await,
        }
    }
}

/// An embedder and its tokenizer.
pub struct EmbedEngine {
    /// Where the model runs.
    pub embedder: AnyEmbedder,
    /// Converts between text and ids.
    pub tokenizer: Rc<Tokenizer>,
    /// Set this flag to end the running call.
    pub stop: Rc<Cell<bool>>,
    /// Rows that the inputs of the next call hold.
    pub(super) rows: Vec<HeldRows>,
    output: Output,
}

impl EmbedEngine {
    /// Makes an embedder with its tokenizer.
    pub fn new(embedder: AnyEmbedder, tokenizer: Tokenizer) -> Self {
        let output = crate::model::program(embedder.config()).output;
        Self { embedder, tokenizer: Rc::new(tokenizer), stop: Rc::default(), rows: Vec::new(), output }
    }

    /// The ids of a text, with the special tokens that the model wants. With `truncate`, ids past the context are left
    /// out, but a special token at the end stays.
    pub fn encode(&self, text: &str, truncate: bool) -> Vec<u32> {
        let mut ids = self.tokenizer.encode(text, true, true);
        let most = self.embedder.context_length();
        if truncate && ids.len() > most {
            self.tokenizer.cut(&mut ids, most);
        }
        ids
    }

    /// The ids of a query and a document. With `truncate`, the end of a document that does not fit is left out.
    pub fn encode_pair(&self, query: &str, document: &str, truncate: bool) -> Vec<u32> {
        match truncate {
            true => self.tokenizer.encode_pair_within(query, document, self.embedder.context_length()),
            false => self.tokenizer.encode_pair(query, document).ids,
        }
    }

    /// The vectors of the inputs, `[inputs, dimensions]`; `None` where the call was stopped.
    ///
    /// # Errors
    /// `invalid_argument` for an input without ids, for an id outside the vocabulary, for more dimensions than the
    /// model has, and for a reranker; `context_full` where an input does not fit; errors of the device.
    pub async fn embed(&mut self, inputs: &[&[u32]], options: &EmbedOptions) -> Result<Option<Vec<f32>>> {
        if self.output != Output::Embedding {
            return Err(Error::invalid_argument("embed: the model scores documents: use rank"));
        }
        let width = self.width();
        let kept = options.dimensions.unwrap_or(width);
        if !(1..=width).contains(&kept) {
            return Err(Error::invalid_argument(format!("dimensions is {kept}, expected 1 to {width}")));
        }
        let Some(mut found) = self.run(inputs).await? else { return Ok(None) };
        if kept < width {
            found = found.chunks_exact(width).flat_map(|row| &row[..kept]).copied().collect();
        }
        if options.normalize {
            found.chunks_exact_mut(kept).for_each(normalize);
        }
        Ok(Some(found))
    }

    /// The score of each input, which is that of the first label; `None` where the call was stopped.
    ///
    /// # Errors
    /// The errors of [`Self::embed`]; `invalid_argument` for a model that is no reranker.
    pub async fn scores(&mut self, inputs: &[&[u32]]) -> Result<Option<Vec<f32>>> {
        let Output::Scores { softmax: is_softmax } = self.output else {
            return Err(Error::invalid_argument("rank: the model is no reranker: use embed"));
        };
        let width = self.width();
        let Some(mut found) = self.run(inputs).await? else { return Ok(None) };
        if is_softmax {
            found.chunks_exact_mut(width).for_each(softmax);
        }
        Ok(Some(found.chunks_exact(width).map(|row| row[0]).collect()))
    }

    /// Number of values that the model gives for each input.
    pub fn width(&self) -> usize {
        let program = crate::model::program(self.embedder.config());
        program.width(program.output_activation())
    }

    async fn run(&mut self, inputs: &[&[u32]]) -> Result<Option<Vec<f32>>> {
        let _rows = std::mem::take(&mut self.rows);
        self.check(inputs)?;
        self.stop.set(false);
        self.embedder.run(inputs, &self.stop).await
    }

    fn check(&self, inputs: &[&[u32]]) -> Result<()> {
        let (vocab, context) = (self.embedder.config().vocab, self.embedder.context_length());
        for (at, ids) in inputs.iter().enumerate() {
            if ids.is_empty() {
                return Err(Error::invalid_argument(format!("input {at} has no tokens")));
            }
            if ids.len() > context {
                let message = format!("input {at} has {} tokens, the context holds {context}", ids.len());
                return Err(Error::new(ErrorCode::ContextFull, message));
            }
            if let Some(id) = ids.iter().find(|&&id| id as usize >= vocab && !self.embedder.knows_row(id)) {
                let message = format!("input {at}: id {id} is not in the vocabulary of {vocab}");
                return Err(Error::invalid_argument(message));
            }
        }
        Ok(())
    }
}

/// Divides a row by its length; a row of zeros stays as it is.
fn normalize(row: &mut [f32]) {
    let length = row.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
    if length > 0.0 {
        row.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
    }
}
