//! GGUF models for Rust programs: loading, text, vectors and scores.

mod load;
mod parts;

use std::path::Path;

use pollster::block_on;

use super::DeviceInfo;
use crate::runtime::{EmbedOptions, Loaded, Session};
use crate::time_slice::now;
use crate::{Error, Result};

pub use crate::kernels::kv_type::KvType;
pub use crate::model::Pooling;
pub use crate::runtime::{ChosenToken, Drafting, FinishReason, GenerateOptions, Outcome, Piece};
pub use crate::sampler::SamplingOptions;
pub use load::{Backend, LoadOptions};

/// A GGUF model: one that writes text, gives vectors of texts, or scores documents.
///
/// It stays on the thread that loaded it, and each call blocks that thread until its result is there.
///
/// ```no_run
/// use webgguf::{GenerateOptions, Model};
///
/// # fn main() -> webgguf::Result<()> {
/// let mut model = Model::load("model.gguf")?;
/// let options = GenerateOptions { max_tokens: Some(100), ..Default::default() };
/// println!("{}", model.generate("Once upon a time", &options)?.text);
/// # Ok(())
/// # }
/// ```
pub struct Model {
    ready: load::Ready,
}

/// What a model is and where it runs.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ModelInfo {
    /// `general.architecture` of the file.
    pub architecture: &'static str,
    /// The type of most weights, such as `Q4_K`.
    pub quantization: &'static str,
    /// Number of weights.
    pub parameters: u64,
    /// Number of tokens that the KV cache holds; for an embedder, of an input.
    pub context_length: usize,
    /// The GPU; `None` on the CPU.
    pub device: Option<DeviceInfo>,
    /// Why the model runs on the CPU, where [`Backend::Auto`] chose it.
    pub backend_reason: Option<String>,
}

impl Model {
    /// Loads a model, with default options. The file may be the first part of a split model, whose other parts lie
    /// beside it.
    ///
    /// # Errors
    /// The errors of [`Model::load_with`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::load_with(path, &LoadOptions::default())
    }

    /// Loads a model.
    ///
    /// # Errors
    /// `download_failed` where a file cannot be read; `bad_file`, `unsupported_architecture` and `unsupported_quant`
    /// for one that is damaged or unknown; `limit_exceeded` and `out_of_memory` where the GPU is too small;
    /// `webgpu_unavailable` where [`Backend::Gpu`] finds no adapter; `invalid_argument` for a wrong option.
    pub fn load_with(path: impl AsRef<Path>, options: &LoadOptions) -> Result<Self> {
        let ready = block_on(load::load(path.as_ref(), options))?;
        Ok(Self { ready })
    }

    /// What the model is and where it runs.
    pub fn info(&self) -> ModelInfo {
        let (config, context_length) = match &self.ready.loaded {
            Loaded::Text(engine) => (engine.session.config(), engine.session.context_length()),
            Loaded::Embed(engine) => (engine.embedder.config(), engine.embedder.context_length()),
        };
        ModelInfo {
            architecture: config.architecture,
            quantization: config.quantization,
            parameters: config.parameters,
            context_length,
            device: self.ready.device.as_deref().map(DeviceInfo::of),
            backend_reason: self.ready.why_cpu.clone(),
        }
    }

    /// Writes a text that continues `prompt`. The names of special tokens in the prompt become these tokens.
    ///
    /// The KV cache keeps prompt and answer: a next prompt that begins with the same tokens is read from where it
    /// differs.
    ///
    /// # Errors
    /// `context_full` where the prompt leaves no room for an answer; `invalid_argument` for an empty prompt, a wrong
    /// option, and a model that writes no text; `bad_file` where the weights give no numbers; `out_of_memory` and
    /// `device_lost`.
    pub fn generate(&mut self, prompt: &str, options: &GenerateOptions) -> Result<Outcome> {
        let mut pieces = self.stream(prompt, options)?;
        pieces.by_ref().try_for_each(|piece| piece.map(drop))?;
        pieces.finish()
    }

    /// Writes a text piece by piece.
    ///
    /// ```no_run
    /// # use webgguf::{GenerateOptions, Model};
    /// # fn main() -> webgguf::Result<()> {
    /// # let mut model = Model::load("model.gguf")?;
    /// let mut pieces = model.stream("Once upon a time", &GenerateOptions::default())?;
    /// for piece in pieces.by_ref().take(20) {
    ///     print!("{}", piece?.text);
    /// }
    /// println!("\n{} tokens", pieces.finish()?.ids.len());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`Model::generate`].
    pub fn stream(&mut self, prompt: &str, options: &GenerateOptions) -> Result<Pieces<'_>> {
        let Loaded::Text(engine) = &mut self.ready.loaded else {
            return Err(Error::invalid_argument("generate: the model writes no text: use embed or rank"));
        };
        let ids = engine.tokenizer.encode_prompt(prompt);
        engine.start(ids, options.clone(), now())?;
        Ok(Pieces { engine })
    }

    /// The vectors of texts, each of length 1.
    ///
    /// # Errors
    /// `context_full` for a text that is longer than the context; `invalid_argument` for an empty one and for a model
    /// that gives no vectors; `out_of_memory` and `device_lost`.
    pub fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let Loaded::Embed(engine) = &mut self.ready.loaded else {
            return Err(Error::invalid_argument("embed: the model writes text: use generate"));
        };
        let inputs: Vec<Vec<u32>> = texts.iter().map(|text| engine.encode(text, false)).collect();
        let inputs: Vec<&[u32]> = inputs.iter().map(Vec::as_slice).collect();
        let options = EmbedOptions { normalize: true, dimensions: None };
        let found = block_on(engine.embed(&inputs, &options))?.unwrap_or_default();
        Ok(found.chunks_exact(engine.width()).map(<[f32]>::to_vec).collect())
    }

    /// The scores of documents for a query: the higher, the better a document answers it.
    ///
    /// # Errors
    /// `context_full` for a pair that is longer than the context; `invalid_argument` for a model that is no reranker;
    /// `out_of_memory` and `device_lost`.
    pub fn rank(&mut self, query: &str, documents: &[&str]) -> Result<Vec<f32>> {
        let Loaded::Embed(engine) = &mut self.ready.loaded else {
            return Err(Error::invalid_argument("rank: the model writes text: use generate"));
        };
        let inputs: Vec<Vec<u32>> =
            documents.iter().map(|document| engine.encode_pair(query, document, false)).collect();
        let inputs: Vec<&[u32]> = inputs.iter().map(Vec::as_slice).collect();
        Ok(block_on(engine.scores(&inputs))?.unwrap_or_default())
    }

    /// The ids of the tokens of a prompt.
    pub fn tokenize(&self, prompt: &str) -> Vec<u32> {
        match &self.ready.loaded {
            Loaded::Text(engine) => engine.tokenizer.encode_prompt(prompt),
            Loaded::Embed(engine) => engine.encode(prompt, false),
        }
    }

    /// Empties the KV cache.
    pub fn reset(&mut self) {
        if let Loaded::Text(engine) = &mut self.ready.loaded {
            engine.reset();
        }
    }
}

/// A text that is being written: an iterator over its pieces, which [`Model::stream`] gives. When it is dropped, the
/// text ends.
pub struct Pieces<'m> {
    engine: &'m mut crate::runtime::Engine,
}

impl Iterator for Pieces<'_> {
    type Item = Result<Piece>;

    fn next(&mut self) -> Option<Result<Piece>> {
        block_on(self.engine.next(now)).transpose()
    }
}

impl Pieces<'_> {
    /// Ends the text, and returns all of it.
    ///
    /// # Errors
    /// `invalid_argument` after an error that ended the text.
    pub fn finish(self) -> Result<Outcome> {
        self.engine.finish()
    }
}

impl Drop for Pieces<'_> {
    fn drop(&mut self) {
        // After `finish` no text is left to end.
        drop(self.engine.finish());
    }
}
