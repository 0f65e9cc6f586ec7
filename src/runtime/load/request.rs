//! What a load decides once the headers are read, before any weight is: the configuration, the tensors that the model
//! uses, and the room of its session.

use crate::forward::Room;
use crate::gguf::{Gguf, Value};
use crate::kernels::kv_type::KvType;
use crate::model::{Drafter, ModelConfig, PART, Pooling, SOUNDS, WeightSpec, WholeImages, match_tensors, whole_images};
use crate::runtime::{EmbedEngine, Engine};
use crate::{Error, Result};

/// Context length where the caller names none: long enough for a conversation, small enough for a phone.
const DEFAULT_CONTEXT: usize = 4096;

/// A loaded model.
pub enum Loaded {
    /// It writes text.
    Text(Engine),
    /// It gives vectors or scores.
    Embed(EmbedEngine),
}

/// What a caller asks of a model.
#[derive(Debug, Clone, Copy)]
pub struct LoadRequest {
    /// Number of positions of the KV cache; `None` for the default.
    pub context_length: Option<f64>,
    /// For a draft model: the context length of the model that it drafts for.
    pub draft_context: Option<usize>,
    /// Type in which the KV cache stores keys and values.
    pub kv_type: KvType,
    /// Maximum number of requests at a time.
    pub parallel: usize,
    /// Whether a block of the file for multi-token prediction may draft tokens.
    pub mtp: bool,
    /// Whether prompts will hold images.
    pub has_images: bool,
}

impl LoadRequest {
    /// The room of the model's session.
    ///
    /// # Errors
    /// `invalid_argument` for a context length that the model does not have.
    pub fn room(&self, config: &ModelConfig) -> Result<Room> {
        let context = context_length(self.context_length, self.draft_context, config)?;
        let whole_images = self.has_images && whole_images(config) != WholeImages::Never;
        let room = Room { kv_type: self.kv_type, axes: self.has_images, whole_images, ..Room::one(context) };
        Ok(room.for_requests(self.parallel).with_drafts(self.draft_context.is_none()))
    }
}

/// A model whose headers are read, with the tensors that it uses by their indices in the file.
pub struct Matched {
    /// The model's configuration.
    pub config: ModelConfig,
    /// Which weight each tensor is.
    pub tensors: Vec<(usize, WeightSpec)>,
}

impl Matched {
    /// Reads the configuration and matches the tensors. `part` is one of several programs of a file: `sounds` the
    /// encoder of sounds where it has one of images, too.
    ///
    /// # Errors
    /// `bad_file`, `unsupported_architecture` and `unsupported_quant` for a file that is damaged or unknown;
    /// `invalid_argument` for a kind of pooling that the model does not have.
    pub fn of(gguf: &mut Gguf, pooling: Option<Pooling>, part: Option<&str>) -> Result<Self> {
        // A file must not ask for a part by itself: its code may not be linked.
        let own = part.filter(|&part| part != SOUNDS).unwrap_or_default();
        if !own.is_empty() || gguf.metadata.get(PART).is_some() {
            gguf.metadata.insert(PART, Value::String(own.to_owned()));
        }
        if part == Some(SOUNDS) {
            gguf.metadata.insert("clip.has_vision_encoder", Value::Bool(false));
        }
        let mut config = crate::model::config(gguf)?;
        if let Some(pooling) = pooling {
            config = config.with_pooling(pooling)?;
        }
        config.embedder.check_sight(config.architecture)?;
        if config.encoder.is_some() {
            crate::model::flatten(gguf);
        }
        let tensors = match_tensors(&config, &gguf.tensors)?;
        Ok(Self { config, tensors })
    }

    /// Puts a drafter of a file of its own behind the layers. `parts`: the files of the model.
    ///
    /// # Errors
    /// The errors of [`Self::of`]; `invalid_argument` for a file that is no drafter of this model.
    pub fn with_drafter(self, gguf: &mut Gguf, parts: usize, draft: Gguf) -> Result<Self> {
        let config = Drafter::join(gguf, parts, self.config, draft)?;
        let tensors = match_tensors(&config, &gguf.tensors)?;
        Ok(Self { config, tensors })
    }

    /// Lets the file's block for multi-token prediction draft tokens where the session can use it, else leaves it out.
    pub fn choose_mtp(&mut self, request: &LoadRequest, room: &Room, is_on_gpu: bool) {
        self.config.predicts_next &= request.mtp && is_on_gpu && room.drafts;
        if !self.config.predicts_next {
            self.tensors.retain(|(_, spec)| spec.layer.is_none_or(|layer| layer < self.config.layers));
        }
    }
}

/// The context length, given the one that the caller asks for. A model that drafts takes the one of the model that it
/// drafts for, `drafts_for`, as far as its own goes.
///
/// # Errors
/// `invalid_argument` for one that is no integer from 2 to the model's.
pub fn context_length(asked: Option<f64>, drafts_for: Option<usize>, config: &ModelConfig) -> Result<usize> {
    let drafts = drafts_for.map(|context| context.min(config.context_length) as f64);
    let Some(asked) = drafts.or(asked) else { return Ok(config.context_length.min(DEFAULT_CONTEXT)) };
    let max = config.context_length;
    if !(asked >= 2.0 && asked <= max as f64 && asked.fract() == 0.0) {
        let message = format!("contextLength is {asked}, expected an integer from 2 to the model's {max}");
        return Err(Error::invalid_argument(message));
    }
    Ok(asked as usize)
}
