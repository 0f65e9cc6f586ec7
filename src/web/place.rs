//! Where a model that JavaScript holds lies between calls.

use wasm_bindgen::JsValue;

use super::errors::to_js;
use super::one_at_a_time::{OneAtATime, Taken};
use crate::Error;
use crate::model::Embeds;
use crate::runtime::{EmbedEngine, Engine, Loaded, Session};

/// The place of a model that writes text, or of an embedder.
#[derive(Clone)]
pub(super) enum Place {
    Text(OneAtATime<Engine>),
    Embed(OneAtATime<EmbedEngine>),
}

impl Place {
    pub(super) fn new(loaded: Loaded) -> Self {
        match loaded {
            Loaded::Text(engine) => Self::Text(OneAtATime::new(engine)),
            Loaded::Embed(engine) => Self::Embed(OneAtATime::new(engine)),
        }
    }

    /// What was at this place, which nobody else may have.
    pub(super) fn into_inner(self) -> Result<Loaded, JsValue> {
        let found = match self {
            Self::Text(place) => place.into_inner().map(Loaded::Text),
            Self::Embed(place) => place.into_inner().map(Loaded::Embed),
        };
        found.ok_or_else(busy)
    }

    /// The engine of a model that writes text.
    pub(super) fn text(&self) -> Result<Taken<Engine>, JsValue> {
        match self {
            Self::Text(place) => place.take().ok_or_else(busy),
            Self::Embed(_) => Err(to_js(Error::invalid_argument("the model writes no text: use embed or rank"))),
        }
    }

    /// The engine of an embedder, or of a reranker where it `ranks`.
    pub(super) fn embedder(&self, ranks: bool) -> Result<Taken<EmbedEngine>, JsValue> {
        let engine = match self {
            Self::Embed(place) => return place.take().ok_or_else(busy),
            Self::Text(place) => place.take().ok_or_else(busy)?,
        };
        let config = engine.session.config();
        let why = match config.embedder.embeds {
            Embeds::Never => format!("models of architecture {} do so here", config.architecture),
            _ if ranks => "rank takes the file of a reranker".into(),
            _ => "its file names no pooling: load it with the option 'pooling'".into(),
        };
        Err(to_js(Error::invalid_argument(format!("the model writes text and gives no vectors: {why}"))))
    }
}

/// Another call has what this one needs.
pub(super) fn busy() -> JsValue {
    to_js(Error::invalid_argument("the model is busy with another call: await that first"))
}
