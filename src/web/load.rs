//! Loading: reads the headers of all parts, then brings every tensor to its place in file order, through one slice of
//! memory.

use std::borrow::Cow;
use std::pin::Pin;
use std::rc::Rc;

use js_sys::Function;
use serde::Deserialize;
use wasm_bindgen::prelude::*;

use super::device_handle::DeviceHandle;
use super::errors::to_js;
use super::header::{Headers, read_header};
use super::progress::Progress;
use super::shaders::{Needed, fetch};
use super::source::{ByteSource, PartReader};
use super::threads;
use super::tuning::tune;
use super::upload::Upload;
use crate::cpu::{CacheFormat, CpuModel};
use crate::forward::Room;
use crate::gguf::{Gguf, TensorInfo};
use crate::gpu::Device;
use crate::kernels::caps::{Caps, PerLayerEmbeddings, Precision};
use crate::kernels::kv_type::KvType;
use crate::kernels::tuned::Tuned;
use crate::model::program::Output;
use crate::model::{Pooling, WeightSpec, rounded_kernel};
use crate::runtime::{
    AnyEmbedder, AnySession, CpuEmbedder, CpuSession, EmbedEngine, Engine, GpuModelBuilder, GpuRun, LoadRequest,
    Loaded, Matched,
};
use crate::time_slice::TimeSlice;
use crate::tokenizer::Tokenizer;
use crate::{Error, ErrorCode};

/// Bytes of a tensor between two yields to the page, on the CPU: a few milliseconds of work.
const TENSOR_STEP: usize = 4 << 20;

/// Maximum number of bytes that are reserved in advance for a tensor in a file of unknown length.
const UNSEEN_BYTES: u64 = 64 << 20;

/// Options of `load`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadOptions {
    backend: Choice,
    context_length: Option<f64>,
    /// For a model that drafts tokens: the context length of the model that it drafts for.
    draft_context: Option<usize>,
    #[serde(default)]
    precision: Precision,
    #[serde(default)]
    kv_type: KvType,
    #[serde(default = "one")]
    parallel: usize,
    /// Number of the sources of the model's own file: those after them are a drafter's.
    own_sources: Option<usize>,
    /// Whether a block of the file that predicts the token after the next is to draft tokens: true unless given.
    mtp: Option<bool>,
    pooling: Option<Pooling>,
    /// Most bytes, of GPU memory or on the CPU of memory, in which what was read of prompts is kept.
    prefix_bytes: Option<f64>,
    /// Whether prompts will hold images.
    #[serde(default)]
    has_images: bool,
    /// Which of several programs of a file to load.
    #[serde(default)]
    part: Option<String>,
    #[serde(default, with = "serde_wasm_bindgen::preserve")]
    per_layer_embeddings: JsValue,
    /// A function that takes a key of device and kernels, and returns the variants that an earlier check found to be
    /// wrong, or `undefined` if there was no check. Without the function nothing is checked.
    #[serde(default, with = "serde_wasm_bindgen::preserve")]
    self_check: JsValue,
    /// A function that tunes kernels, if they are to be tuned: see [`tune()`].
    #[serde(default, with = "serde_wasm_bindgen::preserve")]
    tune: JsValue,
    /// Whether they are only to be tuned on a GPU of a vendor on whose GPUs the tables were not measured.
    #[serde(default)]
    tune_unmeasured: bool,
    /// A function that fetches shaders and code: see [`fetch`].
    #[serde(default, with = "serde_wasm_bindgen::preserve")]
    fetch: JsValue,
    /// A function that starts the threads of the CPU path, where it is to have several: see [`threads::open`].
    #[serde(default, with = "serde_wasm_bindgen::preserve")]
    threads: JsValue,
}

impl LoadOptions {
    /// What is asked of the model, without what is JavaScript's.
    fn request(&self) -> LoadRequest {
        LoadRequest {
            context_length: self.context_length,
            draft_context: self.draft_context,
            kv_type: self.kv_type,
            parallel: self.parallel,
            mtp: self.mtp != Some(false),
            has_images: self.has_images,
        }
    }
}

/// The default of `parallel`: one request at a time.
pub fn one() -> usize {
    1
}

/// Where embeddings per layer are stored: a word, or the number of rows on the GPU.
pub fn per_layer_embeddings(choice: &JsValue) -> PerLayerEmbeddings {
    match (choice.as_string().as_deref(), choice.as_f64()) {
        (Some("gpu"), _) => PerLayerEmbeddings::Gpu,
        (Some("host"), _) => PerLayerEmbeddings::Slots(u32::MAX),
        (_, Some(rows)) => PerLayerEmbeddings::Slots(rows as u32),
        _ => PerLayerEmbeddings::Auto,
    }
}

/// Where a model is to run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    #[default]
    Auto,
    Webgpu,
    Cpu,
}

/// Reads the tokenizer, yielding to the page in between.
pub async fn read_tokenizer(gguf: &Gguf) -> Result<Tokenizer, Error> {
    let mut time_slice = TimeSlice::new();
    Tokenizer::yielding(&gguf.metadata, async || time_slice.yield_if_over().await).await
}

/// A future of something that is being loaded. It is boxed, so that models and encoders share its code.
type Loading<'f, T> = Pin<Box<dyn Future<Output = Result<T, JsValue>> + 'f>>;

/// What a file is to be, with what the caller says of it.
enum Wanted {
    Model {
        pooling: Option<Pooling>,
        /// See [`LoadOptions::own_sources`].
        own_sources: Option<usize>,
    },
    Encoder {
        /// Which of several programs is wanted.
        part: Option<String>,
    },
}

/// The headers of all parts of a file, and the readers that stand behind them.
struct Opened {
    gguf: Gguf,
    matched: Matched,
    readers: Vec<PartReader>,
    progress: Progress,
}

impl Opened {
    /// Reads the headers and matches the tensors.
    async fn read(
        sources: Vec<ByteSource>,
        wanted: Wanted,
        fetched: &JsValue,
        report: Function,
    ) -> Result<Self, JsValue> {
        let mut readers: Vec<PartReader> = sources.into_iter().map(PartReader::new).collect();
        let progress = Progress { report, total: readers.iter().filter_map(PartReader::size).sum(), loaded: 0 };
        let mut parts = Vec::with_capacity(readers.len());
        for reader in &mut readers {
            progress.stage("download", 0, progress.total)?;
            parts.push(read_header(reader, false).await?);
        }
        // First: a page that loads no encoder has not linked the code that `Matched` runs for one.
        let (wants_encoder, pooling, part, own) = match wanted {
            Wanted::Model { pooling, own_sources } => (false, pooling, None, own_sources),
            Wanted::Encoder { part } => (true, None, part, None),
        };
        let Headers { mut gguf, draft, own } = Headers::join(parts, own).map_err(to_js)?;
        for (part, reader) in readers.iter().enumerate() {
            let file = draft.as_ref().filter(|_| part >= own).map(|draft| (draft, part - own));
            let (file, part) = file.unwrap_or((&gguf, part));
            reader.check_size(file.data_end(part)).map_err(to_js)?;
        }
        crate::model::check_kind(&gguf.metadata, wants_encoder).map_err(to_js)?;
        if wants_encoder {
            crate::model::check_input(&gguf.metadata, part.as_deref()).map_err(to_js)?;
        }
        let needed = Needed::at_first(&gguf);
        fetch(fetched, Needed { families: needed.families || draft.is_some(), ..needed }).await?;
        let mut matched = Matched::of(&mut gguf, pooling, part.as_deref()).map_err(to_js)?;
        if let Some(draft) = draft {
            matched = matched.with_drafter(&mut gguf, own, draft).map_err(to_js)?;
        }
        Ok(Self { gguf, matched, readers, progress })
    }
}

/// Loads an encoder from the parts of one file.
pub async fn load_encoder(
    sources: Vec<ByteSource>,
    options: LoadOptions,
    report: Function,
    device: Option<DeviceHandle>,
) -> Result<AnyEmbedder, JsValue> {
    let wanted = Wanted::Encoder { part: options.part };
    let opened = Box::pin(Opened::read(sources, wanted, &options.fetch, report)).await?;
    let Opened { gguf, matched, readers, mut progress } = opened;
    let config = &matched.config;
    if config.encoder.is_none() {
        let message = format!("option 'mmproj': a model of architecture {}, expected an encoder", config.architecture);
        return Err(to_js(Error::invalid_argument(message)));
    }
    let room = Room::one(config.context_length);
    let device = open(options.backend, device).await?.device;
    let caps = device.as_ref().map(|device| device.caps.clone().with_precision(options.precision));
    fetch(&options.fetch, Needed::of(&gguf.tensors, &matched, caps.as_ref())).await?;
    let (precision, known_verdict) = (options.precision, options.self_check.dyn_into::<Function>().ok());
    let threads = options.threads.dyn_into::<Function>().ok();
    let job = Job { tensors: &gguf.tensors, matched, room, precision, known_verdict, tune: None, threads };
    match job.run(device.zip(caps), readers, &mut progress).await? {
        Run::Embed(encoder) => Ok(encoder),
        Run::Text(_) => Err(to_js(Error::invalid_argument("the file is no encoder"))),
    }
}

/// Loads a model from the parts of one file, onto `device` where one is given; and says why it runs on the CPU, where
/// the caller left that open.
pub async fn load(
    sources: Vec<ByteSource>,
    options: LoadOptions,
    report: Function,
    device: Option<DeviceHandle>,
) -> Result<(Loaded, Option<String>), JsValue> {
    let wanted = Wanted::Model { pooling: options.pooling, own_sources: options.own_sources };
    let opened = Box::pin(Opened::read(sources, wanted, &options.fetch, report)).await?;
    let Opened { gguf, mut matched, readers, mut progress } = opened;
    let tokenizer = read_tokenizer(&gguf).await.map_err(to_js)?;
    let request = options.request();
    let room = request.room(&matched.config).map_err(to_js)?;
    let known_verdict = options.self_check.dyn_into::<Function>().ok();
    let threads = options.threads.dyn_into::<Function>().ok();
    let (precision, prefix_bytes) = (options.precision, options.prefix_bytes);
    let Opening { device, why_cpu } = open(options.backend, device).await?;
    matched.choose_mtp(&request, &room, device.is_some());
    let per_layer_embeddings = per_layer_embeddings(&options.per_layer_embeddings);
    let caps = device.as_ref().map(|device| {
        let tuned = Tuned::default();
        Caps { per_layer_embeddings, tuned, ..device.caps.clone() }.with_precision(precision)
    });
    let is_measured = caps.as_ref().is_none_or(|caps| caps.software || caps.is_measured());
    let tune = options.tune.dyn_into::<Function>().ok().filter(|_| !(options.tune_unmeasured && is_measured));
    let most = caps.as_ref().map(|caps| if tune.is_some() { caps.as_measured() } else { caps.clone() });
    let mut needed = Needed::of(&gguf.tensors, &matched, most.as_ref());
    needed.rare |= room.kv_type != KvType::F16;
    fetch(&options.fetch, needed).await?;
    let job = Job { tensors: &gguf.tensors, matched, room, precision, known_verdict, tune, threads };
    // The first report above 0: the header is accepted and a device is there, but no weight takes memory yet.
    progress.received(readers.iter().map(PartReader::position).sum())?;
    let run = job.run(device.zip(caps), readers, &mut progress).await?;
    if let Run::Text(AnySession::Gpu(lane)) = &run {
        // SentencePiece gives single characters the last ids, far from those of merges that are used as often.
        let ids = (' '..='~').flat_map(|sign| tokenizer.encode(sign.encode_utf8(&mut [0; 4]), false, false));
        lane.model().expect(&ids.collect::<Vec<_>>()).await.map_err(to_js)?;
    }
    progress.stage("ready", 1, 1)?;
    let loaded = match run {
        Run::Text(session) => Loaded::Text(Engine::new(session, tokenizer).keeping(prefix_bytes.unwrap_or(0.0) as u64)),
        Run::Embed(embedder) => Loaded::Embed(EmbedEngine::new(embedder, tokenizer)),
    };
    Ok((loaded, why_cpu))
}

/// Where a model is to run.
pub struct Opening {
    /// The device to load on, or `None` for the CPU.
    pub device: Option<Rc<Device>>,
    /// Why the CPU, where the caller left that open.
    pub why_cpu: Option<String>,
}

impl From<Device> for Opening {
    fn from(device: Device) -> Self {
        Self { device: Some(device.into()), why_cpu: None }
    }
}

/// Chooses where a model is to run. A device that the caller gives is always used.
pub async fn open(choice: Choice, given: Option<DeviceHandle>) -> Result<Opening, JsValue> {
    if let Some(DeviceHandle { device, .. }) = given {
        return Ok(Opening { device: Some(device), why_cpu: None });
    }
    let cpu = |why: &str| Ok(Opening { device: None, why_cpu: Some(why.to_owned()) });
    match choice {
        Choice::Cpu => Ok(Opening { device: None, why_cpu: None }),
        Choice::Webgpu => Device::open().await.map(Opening::from).map_err(to_js),
        Choice::Auto => match Device::open().await {
            // A software adapter runs shaders on the CPU, where the CPU path is many times faster.
            Ok(device) if device.adapter.software => {
                cpu("the only GPU adapter is a software one, on which a model is slower than on the CPU")
            }
            Ok(device) => Ok(device.into()),
            Err(error) if error.code() == ErrorCode::WebgpuUnavailable => cpu(error.message()),
            Err(error) => Err(to_js(error)),
        },
    }
}

/// A loaded model without its tokenizer.
enum Run {
    Text(AnySession),
    Embed(AnyEmbedder),
}

/// A model whose header is read, to be loaded.
struct Job<'a> {
    tensors: &'a [TensorInfo],
    matched: Matched,
    room: Room,
    /// Precision of the CPU path; for a device it is in [`Caps`].
    precision: Precision,
    /// See [`LoadOptions::self_check`].
    known_verdict: Option<Function>,
    /// See [`LoadOptions::tune`].
    tune: Option<Function>,
    /// See [`LoadOptions::threads`].
    threads: Option<Function>,
}

impl<'a> Job<'a> {
    /// Loads the model onto the device, or for the CPU where there is none.
    fn run<'f>(
        self,
        device: Option<(Rc<Device>, Caps)>,
        readers: Vec<PartReader>,
        progress: &'f mut Progress,
    ) -> Loading<'f, Run>
    where
        'a: 'f,
    {
        Box::pin(async move {
            match device {
                Some((device, caps)) => self.into_gpu(device, caps, readers, progress).await,
                None => self.into_cpu(readers, progress).await,
            }
        })
    }

    async fn into_gpu(
        self,
        device: Rc<Device>,
        caps: Caps,
        readers: Vec<PartReader>,
        progress: &mut Progress,
    ) -> Result<Run, JsValue> {
        let Self { tensors, matched: Matched { config, tensors: matched }, room, known_verdict, tune: choose, .. } =
            self;
        let builder = GpuModelBuilder::new(device.clone(), caps, config, room, tensors, matched);
        let mut builder = builder.map_err(to_js)?;
        let key = JsValue::from(builder.check_key());
        if let Some(known) = known_verdict {
            let found = known.call2(&JsValue::NULL, &key, &choose.is_some().into())?;
            let names = found.dyn_ref::<js_sys::Array>().map(|names| names.iter().filter_map(|it| it.as_string()));
            builder.check_kernels(names.map(Iterator::collect));
        }
        let upload = Upload { device: device.clone(), tensors, readers, progress: &mut *progress };
        upload.run(&mut builder).await?;
        progress.stage("upload", progress.loaded, progress.loaded)?;
        device.finish().await.map_err(to_js)?;
        progress.stage("compile", 0, 1)?;
        let choose = choose.map(|choose| async move |tuning| tune(&choose, &key, tuning).await);
        let run = builder.finish_tuned(choose).await.map_err(to_js)?;
        progress.stage("compile", 1, 1)?;
        Ok(match run {
            GpuRun::Session(session) => Run::Text(AnySession::of_gpu(*session)),
            GpuRun::Embedder(embedder) => Run::Embed(AnyEmbedder::Gpu(embedder)),
        })
    }

    async fn into_cpu(self, mut readers: Vec<PartReader>, progress: &mut Progress) -> Result<Run, JsValue> {
        let mut specs: std::collections::HashMap<usize, Vec<WeightSpec>> = std::collections::HashMap::new();
        for (index, spec) in self.matched.tensors {
            specs.entry(index).or_default().push(spec);
        }
        let rounds = self.matched.config.rounds_kernels();
        let mut builder = CpuModel::builder(self.matched.config);
        if self.precision != Precision::Exact {
            builder = builder.rounding();
        }
        let threads = match &self.threads {
            Some(start) => threads::open(start).await?,
            None => None,
        };
        if let Some(threads) = &threads {
            builder = builder.with_threads(threads.team());
        }
        let mut time_slice = TimeSlice::new();
        for (index, tensor) in self.tensors.iter().enumerate() {
            let Some((spec, others)) = specs.get(&index).and_then(|specs| specs.split_first()) else { continue };
            let reader = &mut readers[tensor.part];
            reader.skip_to(tensor.offset, &tensor.name).await?;
            let len = tensor.bytes as usize;
            // In a file of unknown length the header may claim anything, so memory is taken as bytes arrive.
            let at_once = if reader.size().is_some() { tensor.bytes } else { tensor.bytes.min(UNSEEN_BYTES) };
            let mut bytes = Vec::new();
            reserve(&mut bytes, at_once, tensor).map_err(to_js)?;
            while bytes.len() < len {
                let start = bytes.len();
                reserve(&mut bytes, len.min(start + TENSOR_STEP) as u64 - start as u64, tensor).map_err(to_js)?;
                bytes.resize(len.min(start + TENSOR_STEP), 0);
                reader.fill(&mut bytes[start..], &tensor.name).await?;
                progress.received((bytes.len() - start) as u64)?;
                time_slice.yield_if_over().await;
            }
            if let Cow::Owned(rounded) = rounded_kernel(rounds, tensor, &bytes) {
                bytes = rounded;
            }
            for spec in others {
                builder.put(spec, tensor.ty, bytes.clone()).map_err(to_js)?;
            }
            builder.put(spec, tensor.ty, bytes).map_err(to_js)?;
        }
        if let Some(threads) = threads {
            threads.ready().await?;
        }
        let model = builder.build(self.room.context, CacheFormat::Rounded(self.room.kv_type)).map_err(to_js)?;
        Ok(match model.program().output {
            Output::Logits => Run::Text(AnySession::Cpu(Box::new(CpuSession::new(model)))),
            _ => Run::Embed(AnyEmbedder::Cpu(Box::new(CpuEmbedder::new(model)))),
        })
    }
}

/// Reserves memory for `more` bytes of a tensor. It is touched piece by piece, since that of an embedding takes a tenth
/// of a second.
fn reserve(bytes: &mut Vec<u8>, more: u64, tensor: &TensorInfo) -> Result<(), Error> {
    let message = || format!("no memory for the {} bytes of tensor {}", tensor.bytes, tensor.name);
    let more = usize::try_from(more).map_err(|_| Error::new(ErrorCode::OutOfMemory, message()))?;
    let outcome = if bytes.is_empty() { bytes.try_reserve_exact(more) } else { bytes.try_reserve(more) };
    outcome.map_err(|_| Error::new(ErrorCode::OutOfMemory, message()))
}
