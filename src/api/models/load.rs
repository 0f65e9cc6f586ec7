//! Loads a model from files onto a device, or for the CPU.

use std::collections::HashMap;
use std::rc::Rc;

use futures_channel::oneshot::Receiver;

use super::parts::{Part, TableInFile, open};
use crate::cpu::{CacheFormat, CpuModel};
use crate::forward::Room;
use crate::gguf::{Gguf, TensorInfo};
use crate::gpu::Device;
use crate::kernels::caps::Precision;
use crate::kernels::kv_type::KvType;
use crate::model::program::Output;
use crate::model::{Pooling, WeightSpec, rounded_kernel};
use crate::runtime::{
    AnyEmbedder, AnySession, CpuEmbedder, CpuSession, EmbedEngine, Engine, GpuModelBuilder, GpuRun, LoadRequest,
    Loaded, Matched,
};
use crate::tokenizer::Tokenizer;
use crate::{ErrorCode, Result};

/// Bytes that are uploaded between two checks of the GPU, which may be one such window behind.
const WINDOW: u64 = 32 << 20;

/// Where a model runs.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// On the GPU, and on the CPU where there is no adapter but one in software.
    #[default]
    Auto,
    /// On the GPU, whatever its adapter is; an error where there is none.
    Gpu,
    /// On the CPU, with one thread.
    Cpu,
}

/// Options of [`Model::load_with`](super::Model::load_with).
///
/// ```
/// let options = webgguf::LoadOptions { context_length: Some(8192), ..Default::default() };
/// assert_eq!(options.backend, webgguf::Backend::Auto);
/// ```
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// Where the model runs.
    pub backend: Backend,
    /// Tokens of the KV cache, at most those that the model was trained with; by default 4096 at most.
    pub context_length: Option<usize>,
    /// Type in which the KV cache stores keys and values.
    pub kv_type: KvType,
    /// How an embedder makes one vector of a text from its tokens' vectors; by default as the file says.
    pub pooling: Option<Pooling>,
    /// Whether the kernels that the model uses are compared with the CPU after the load; a wrong one is replaced by a
    /// plainer variant.
    pub self_check: bool,
}

impl Default for LoadOptions {
    fn default() -> Self {
        let (backend, kv_type) = (Backend::default(), KvType::default());
        Self { backend, context_length: None, kv_type, pooling: None, self_check: true }
    }
}

/// A model that is ready, and where it runs.
pub struct Ready {
    pub loaded: Loaded,
    /// `None` on the CPU.
    pub device: Option<Rc<Device>>,
    /// Why it runs on the CPU, where the caller left that open.
    pub why_cpu: Option<String>,
}

/// Loads the model of a file.
pub async fn load(path: &std::path::Path, options: &LoadOptions) -> Result<Ready> {
    let (mut gguf, parts) = open(path)?;
    let mut matched = Matched::of(&mut gguf, options.pooling, None)?;
    crate::model::check_kind(&gguf.metadata, false)?;
    let tokenizer = Tokenizer::from_metadata(&gguf.metadata)?;
    let request = LoadRequest {
        context_length: options.context_length.map(|length| length as f64),
        draft_context: None,
        kv_type: options.kv_type,
        parallel: 1,
        mtp: true,
        has_images: false,
    };
    let room = request.room(&matched.config)?;
    let (device, why_cpu) = choose(options.backend).await?;
    matched.choose_mtp(&request, &room, device.is_some());
    let loaded = match &device {
        Some(device) => {
            let run = onto_gpu(device, (&gguf, parts), matched, room, options.self_check).await?;
            match run {
                GpuRun::Session(session) => Loaded::Text(Engine::new(AnySession::of_gpu(*session), tokenizer)),
                GpuRun::Embedder(embedder) => Loaded::Embed(EmbedEngine::new(AnyEmbedder::Gpu(embedder), tokenizer)),
            }
        }
        None => for_cpu((&gguf, &parts), matched, room, tokenizer)?,
    };
    Ok(Ready { loaded, device, why_cpu })
}

/// Opens a device, or says why there is none, where the caller left that open.
async fn choose(backend: Backend) -> Result<(Option<Rc<Device>>, Option<String>)> {
    if backend == Backend::Cpu {
        return Ok((None, None));
    }
    match Device::open().await {
        // A software adapter runs shaders on the CPU, where the CPU path is many times faster.
        Ok(device) if backend == Backend::Auto && device.adapter.software => {
            let name = &device.adapter.name;
            Ok((None, Some(format!("the only GPU adapter, {name}, computes in software"))))
        }
        Ok(device) => Ok((Some(device.into()), None)),
        Err(error) if backend == Backend::Auto && error.code() == ErrorCode::WebgpuUnavailable => {
            Ok((None, Some(error.message().to_owned())))
        }
        Err(error) => Err(error),
    }
}

async fn onto_gpu(
    device: &Rc<Device>,
    (gguf, mut parts): (&Gguf, Vec<Part>),
    Matched { config, tensors }: Matched,
    room: Room,
    self_check: bool,
) -> Result<GpuRun> {
    let caps = device.caps.clone().with_precision(Precision::default());
    let mut builder = GpuModelBuilder::new(device.clone(), caps, config, room, &gguf.tensors, tensors)?;
    if self_check {
        builder.check_kernels(None);
    }
    upload(device, &gguf.tensors, &parts, &mut builder).await?;
    if let Some(index) = builder.cached_tensor() {
        let tensor = &gguf.tensors[index];
        let table = TableInFile::new(parts.swap_remove(tensor.part), tensor)?;
        builder.read_rows_from(Box::new(table));
    }
    device.finish().await?;
    builder.finish_any().await
}

async fn upload(
    device: &Device,
    tensors: &[TensorInfo],
    parts: &[Part],
    builder: &mut GpuModelBuilder<'_>,
) -> Result<()> {
    let (mut in_window, mut window_before, mut bytes) = (0, None, Vec::new());
    for (index, tensor) in tensors.iter().enumerate() {
        for slice in builder.slices(index) {
            bytes.resize(slice.bytes as usize, 0);
            parts[tensor.part].read(tensor.offset + slice.offset, &mut bytes)?;
            builder.put(index, &slice, &bytes)?;
            in_window += slice.bytes;
            if in_window < WINDOW {
                continue;
            }
            in_window = 0;
            // A lost device drops the sender; `check` then reports it.
            wait_for(window_before.replace(device.submitted())).await;
            device.check()?;
        }
    }
    Ok(())
}

async fn wait_for(window: Option<Receiver<()>>) {
    if let Some(window) = window {
        let _ = window.await;
    }
}

fn for_cpu((gguf, parts): (&Gguf, &[Part]), matched: Matched, room: Room, tokenizer: Tokenizer) -> Result<Loaded> {
    let mut specs: HashMap<usize, Vec<WeightSpec>> = HashMap::new();
    for (index, spec) in matched.tensors {
        specs.entry(index).or_default().push(spec);
    }
    let rounds = matched.config.rounds_kernels();
    let mut builder = CpuModel::builder(matched.config).rounding();
    for (index, tensor) in gguf.tensors.iter().enumerate() {
        let Some(specs) = specs.get(&index) else { continue };
        let mut bytes = vec![0; tensor.bytes as usize];
        parts[tensor.part].read(tensor.offset, &mut bytes)?;
        let bytes = rounded_kernel(rounds, tensor, &bytes);
        for spec in specs {
            builder.put(spec, tensor.ty, bytes.to_vec())?;
        }
    }
    let model = builder.build(room.context, CacheFormat::Rounded(room.kv_type))?;
    Ok(match model.program().output {
        Output::Logits => Loaded::Text(Engine::new(AnySession::Cpu(Box::new(CpuSession::new(model))), tokenizer)),
        _ => Loaded::Embed(EmbedEngine::new(AnyEmbedder::Cpu(Box::new(CpuEmbedder::new(model))), tokenizer)),
    })
}
