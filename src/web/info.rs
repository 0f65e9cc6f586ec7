//! `model.info`: what a loaded model is and where it runs.

use serde::Serialize;

use crate::gpu::Device;
use crate::kernels::kv_type::KvType;
use crate::model::{Drafter, ModelConfig, Suggested};
use crate::runtime::{AnyEmbedder, AnySession, EmbedEngine, Engine, GpuSession, SelfCheck, Session};
use crate::tokenizer::Tokenizer;

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
    kv_type: Option<KvType>,
    parallel: Option<usize>,
    vocabulary_size: usize,
    has_chat_template: bool,
    chat_template: Option<String>,
    tool_template: Option<String>,
    speech_template: Option<String>,
    sampling: Suggested,
    backend: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) backend_reason: Option<String>,
    adapter: String,
    features: Vec<String>,
    gpu_bytes: u64,
    prefix_cache_bytes: u64,
    variants: Vec<String>,
    dispatches_per_token: usize,
    decoder_start_token: Option<u32>,
    pooling: Option<&'static str>,
    embedding_length: Option<usize>,
    self_check: SelfCheck,
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    draft: Option<OfDrafter>,
}

/// A drafter with a file of its own, as a block of the model.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct OfDrafter {
    architecture: &'static str,
    name: Option<String>,
    quantization: &'static str,
    parameters: u64,
    context_length: usize,
    gpu_bytes: u64,
}

/// The part of the info about the GPU.
#[derive(Default)]
struct OnGpu {
    bytes: u64,
    variants: Vec<String>,
    dispatches_per_token: usize,
    self_check: SelfCheck,
}

impl OnGpu {
    fn of(session: &GpuSession) -> Self {
        Self {
            bytes: session.bytes(),
            variants: session.variants(),
            dispatches_per_token: session.dispatches_per_token(),
            self_check: session.model().self_check().clone(),
        }
    }
}

impl Info {
    /// The info about a model that writes text.
    pub fn of_text(engine: &Engine) -> Self {
        let (config, context) = (engine.session.config(), engine.session.context_length());
        let (device, on_gpu) = match &engine.session {
            AnySession::Gpu(lane) => {
                (Some(lane.model().device()), OnGpu { bytes: lane.bytes(), ..lane.of_session(OnGpu::of) })
            }
            AnySession::Cpu(_) => (None, OnGpu::default()),
        };
        let info = Self::new(config, context, &engine.tokenizer, device.map(|device| &**device), on_gpu);
        let parallel = Some(if let AnySession::Gpu(lane) = &engine.session { lane.lanes() } else { 1 });
        let prefix_cache_bytes = engine.session.prefixes().budget();
        Self { kv_type: Some(engine.session.kv_type()), parallel, prefix_cache_bytes, ..info }
    }

    /// The info about an embedder.
    pub fn of_embedder(engine: &EmbedEngine) -> Self {
        let (config, context) = (engine.embedder.config(), engine.embedder.context_length());
        let (device, on_gpu) = match &engine.embedder {
            AnyEmbedder::Gpu(embedder) => (
                Some(embedder.model().device()),
                OnGpu { bytes: embedder.bytes(), variants: embedder.variants(), ..OnGpu::default() },
            ),
            AnyEmbedder::Cpu(_) => (None, OnGpu::default()),
        };
        let pooling = config.embedder.pooling.map(crate::model::Pooling::as_str);
        let info = Self::new(config, context, &engine.tokenizer, device.map(|device| &**device), on_gpu);
        Self { pooling, embedding_length: Some(engine.width()), ..info }
    }

    fn new(
        config: &ModelConfig,
        context_length: usize,
        tokenizer: &Tokenizer,
        device: Option<&Device>,
        on_gpu: OnGpu,
    ) -> Self {
        let adapter = device.map(|device| &device.adapter);
        Self {
            architecture: config.architecture,
            name: config.name.clone(),
            quantization: config.quantization,
            parameters: config.parameters,
            layers: config.layers,
            context_length,
            kv_type: None,
            parallel: None,
            vocabulary_size: config.vocab,
            has_chat_template: tokenizer.chat_template().is_some(),
            chat_template: tokenizer.chat_template().map(str::to_owned),
            tool_template: tokenizer.tool_template().map(str::to_owned),
            speech_template: tokenizer.speech_template().map(str::to_owned),
            sampling: config.sampling.clone(),
            backend: if device.is_some() { "webgpu" } else { "cpu" },
            backend_reason: None,
            adapter: adapter.map(|facts| facts.name.clone()).unwrap_or_default(),
            features: adapter.map(|facts| facts.features.clone()).unwrap_or_default(),
            gpu_bytes: on_gpu.bytes,
            prefix_cache_bytes: 0,
            variants: on_gpu.variants,
            dispatches_per_token: on_gpu.dispatches_per_token,
            decoder_start_token: config.t5.decoder.map(|decoder| decoder.start),
            pooling: None,
            embedding_length: None,
            self_check: on_gpu.self_check,
            draft: config.drafter.as_deref().filter(|_| config.predicts_next).map(
                |Drafter { config, bytes, .. }| {
                    let &ModelConfig { architecture, quantization, parameters, .. } = config;
                    let (name, gpu_bytes) = (config.name.clone(), *bytes);
                    OfDrafter { architecture, name, quantization, parameters, context_length, gpu_bytes }
                },
            ),
            warnings: config.notes.iter().chain(tokenizer.warnings()).cloned().collect(),
        }
    }
}
