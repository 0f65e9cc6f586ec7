//! `model.info`: what a loaded model is and where it runs.

use serde::Serialize;

use crate::runtime::{AnySession, Engine, Session};

/// Mirrors `ModelInfo` in `js/types.ts`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Info {
    architecture: &'static str,
    name: Option<String>,
    quantization: &'static str,
    parameters: u64,
    layers: usize,
    context_length: usize,
    vocabulary_size: usize,
    has_chat_template: bool,
    backend: &'static str,
    adapter: String,
    features: Vec<String>,
    gpu_bytes: u64,
    variants: Vec<String>,
    dispatches_per_token: usize,
}

impl Info {
    /// Of a loaded engine.
    pub fn of(engine: &Engine) -> Self {
        let config = engine.session.config();
        let gpu = match &engine.session {
            AnySession::Gpu(session) => Some(session),
            AnySession::Cpu(_) => None,
        };
        let adapter = gpu.map(|session| &session.model().device().adapter);
        Self {
            architecture: config.architecture,
            name: config.name.clone(),
            quantization: config.quantization,
            parameters: config.parameters,
            layers: config.layers,
            context_length: engine.session.context_length(),
            vocabulary_size: config.vocab,
            has_chat_template: engine.tokenizer.chat_template().is_some(),
            backend: if gpu.is_some() { "webgpu" } else { "cpu" },
            adapter: adapter.map(|facts| facts.name.clone()).unwrap_or_default(),
            features: adapter.map(|facts| facts.features.clone()).unwrap_or_default(),
            gpu_bytes: gpu.map_or(0, |session| session.bytes()),
            variants: gpu.map(|session| session.variants()).unwrap_or_default(),
            dispatches_per_token: gpu.map_or(0, |session| session.dispatches_per_token()),
        }
    }
}
