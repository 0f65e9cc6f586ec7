//! `WasmModel.inspect`: what a file is and whether it runs here, from its header alone.

use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::*;

use super::errors::{from_value, to_js, to_value};
use super::header::{Headers, read_header};
use super::load::{Choice, Opening, one, open, per_layer_embeddings, read_tokenizer};
use super::promise::promise;
use super::shaders::{Needed, fetch};
use super::source::{ByteSource, PartReader};
use crate::forward::{Buffers, Plan, Room, place, takes_drafts};
use crate::gguf::{Gguf, TensorInfo};
use crate::gpu::{BufferTable, Device};
use crate::kernels::caps::Caps;
use crate::kernels::kv_type::KvType;
use crate::model::{Drafter, ModelConfig, has_rare_code, match_tensors};
use crate::runtime::context_length;
use crate::{Error, ErrorCode, Result};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Options {
    #[serde(default)]
    backend: Choice,
    context_length: Option<f64>,
    /// As for `load`.
    draft_context: Option<usize>,
    /// As for `load`.
    own_sources: Option<usize>,
    #[serde(default, with = "serde_wasm_bindgen::preserve")]
    per_layer_embeddings: JsValue,
    #[serde(default)]
    kv_type: KvType,
    #[serde(default = "one")]
    parallel: usize,
    /// A function that fetches code: see [`fetch`].
    #[serde(default, with = "serde_wasm_bindgen::preserve")]
    fetch: JsValue,
}

/// Mirrors `Inspection` in `js/types.ts`.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Inspection {
    architecture: Option<String>,
    name: Option<String>,
    quantization: Option<&'static str>,
    parameters: Option<u64>,
    layers: Option<usize>,
    trained_context_length: Option<usize>,
    vocabulary_size: Option<usize>,
    file_bytes: u64,
    tensors: Vec<Tensor>,
    supported: bool,
    reason: Option<Reason>,
    warnings: Vec<String>,
    gpu: Option<Gpu>,
}

#[derive(Serialize)]
struct Tensor {
    name: String,
    r#type: &'static str,
    shape: Vec<u64>,
    bytes: u64,
}

#[derive(Serialize)]
struct Reason {
    code: &'static str,
    message: String,
}

impl From<Error> for Reason {
    fn from(error: Error) -> Self {
        Self { code: error.code().as_str(), message: error.message().to_owned() }
    }
}

/// How the model would run on this machine's GPU.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Gpu {
    adapter: String,
    context_length: usize,
    kv_type: KvType,
    weight_bytes: u64,
    session_bytes: u64,
    fits: bool,
    reason: Option<Reason>,
}

/// Reads the headers of all parts, and describes the model without reading its weights. Rejects where a part cannot be
/// read or is no GGUF. For a model that does not run, the result has the reason.
#[wasm_bindgen]
pub fn inspect(sources: Vec<ByteSource>, options: JsValue) -> js_sys::Promise {
    promise(inspection(sources, options))
}

async fn inspection(sources: Vec<ByteSource>, options: JsValue) -> std::result::Result<JsValue, JsValue> {
    let options: Options = from_value(options, "options")?;
    let mut parts = Vec::with_capacity(sources.len());
    for source in sources {
        parts.push(read_header(&mut PartReader::new(source), false).await?);
    }
    let Headers { mut gguf, draft, own } = Headers::join(parts, options.own_sources).map_err(to_js)?;
    let mut found = summary(&gguf);
    let needed = Needed::by_header(&gguf.metadata);
    fetch(&options.fetch, Needed { families: needed.families || draft.is_some(), ..needed }).await?;
    let config = configure(&gguf, &mut found).await;
    match config.and_then(|config| with_drafter(&mut gguf, (own, config), draft)) {
        Ok(config) => {
            let families = has_rare_code(&crate::model::program(&config));
            fetch(&options.fetch, Needed { families, ..Needed::default() }).await?;
            found.supported = true;
            let context = context_length(options.context_length, options.draft_context, &config).map_err(to_js)?;
            let room = Room { kv_type: options.kv_type, ..Room::one(context) }.for_requests(options.parallel).whole();
            let room = room.with_drafts(options.draft_context.is_none());
            // Where `load` would take the CPU, the result has no `gpu`.
            if let Ok(Opening { device: Some(device), .. }) = open(options.backend, None).await {
                let per_layer_embeddings = per_layer_embeddings(&options.per_layer_embeddings);
                let caps = Caps { per_layer_embeddings, ..device.caps.clone() };
                found.gpu = Some(estimate((&device, &caps), (&config, &gguf.tensors), room).await);
            }
        }
        Err(error) => found.reason = Some(error.into()),
    }
    to_value(&found)
}

/// The model with a drafter, if there is one.
fn with_drafter(gguf: &mut Gguf, (own, config): (usize, ModelConfig), draft: Option<Gguf>) -> Result<ModelConfig> {
    let Some(draft) = draft else { return Ok(config) };
    let config = Drafter::join(gguf, own, config, draft)?;
    match_tensors(&config, &gguf.tensors)?;
    Ok(config)
}

fn summary(gguf: &Gguf) -> Inspection {
    let tensor = |tensor: &TensorInfo| Tensor {
        name: tensor.name.clone(),
        r#type: tensor.ty.name(),
        shape: tensor.dims.clone(),
        bytes: tensor.bytes,
    };
    let text = |key: &str| gguf.metadata.str(key).ok().flatten().map(str::to_owned);
    Inspection {
        architecture: text("general.architecture"),
        name: text("general.name"),
        file_bytes: gguf.tensors.iter().map(|tensor| tensor.bytes).sum::<u64>() + gguf.header_bytes,
        tensors: gguf.tensors.iter().map(tensor).collect(),
        ..Inspection::default()
    }
}

/// The model's configuration, after the checks that a load would make of the header.
async fn configure(gguf: &Gguf, found: &mut Inspection) -> Result<ModelConfig> {
    let config = crate::model::numbers(gguf)?;
    found.quantization = Some(config.quantization);
    found.parameters = Some(config.parameters);
    found.layers = Some(config.layers);
    found.trained_context_length = Some(config.context_length);
    found.vocabulary_size = Some(config.vocab);
    // First: a page that loads no encoder has not linked the code that makes the program of one.
    crate::model::check_kind(&gguf.metadata, false)?;
    let config = crate::model::checked(config, gguf)?;
    config.embedder.check_sight(config.architecture)?;
    match_tensors(&config, &gguf.tensors)?;
    let tokenizer = read_tokenizer(gguf).await?;
    found.warnings = config.notes.iter().chain(tokenizer.warnings()).cloned().collect();
    Ok(config)
}

/// Plans the model's buffers, and makes them for a moment, since nothing else tells whether there is memory for them.
async fn estimate((device, caps): (&Device, &Caps), model: (&ModelConfig, &[TensorInfo]), room: Room) -> Gpu {
    let mut gpu = Gpu {
        adapter: device.adapter.name.clone(),
        context_length: room.context,
        kv_type: room.kv_type,
        weight_bytes: 0,
        session_bytes: 0,
        fits: true,
        reason: None,
    };
    if let Err(error) = try_memory((device, caps), model, room, &mut gpu).await {
        (gpu.fits, gpu.reason) = (false, Some(error.into()));
    }
    gpu
}

async fn try_memory(
    (device, caps): (&Device, &Caps),
    (config, tensors): (&ModelConfig, &[TensorInfo]),
    room: Room,
    gpu: &mut Gpu,
) -> Result<()> {
    let program = crate::model::program(config);
    let mut plan = Plan::default();
    let placement = place(&program, caps, tensors, match_tensors(config, tensors)?, &mut plan)?;
    let room = room.with_drafts(room.drafts && takes_drafts(&placement.weights));
    gpu.weight_bytes = plan.bytes();
    let buffers = Buffers::alloc(&program, config.vocab, room, &mut plan);
    gpu.session_bytes = plan.bytes() - gpu.weight_bytes;
    buffers.check_caches(device.largest_binding())?;
    let mut table = BufferTable::default();
    table.make(device, &plan.buffers)?;
    device.finish().await.map_err(|error| match error.code() {
        ErrorCode::OutOfMemory => Error::new(
            ErrorCode::OutOfMemory,
            format!("the GPU has no room for {} bytes: {}", plan.bytes(), error.message()),
        ),
        _ => error,
    })
}
