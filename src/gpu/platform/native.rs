//! Outside browsers: Vulkan, Metal and DirectX 12.

use std::cell::OnceCell;
use std::pin::pin;
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Waker};
use std::thread::JoinHandle;

use crate::Result;
use crate::gpu::device::{AdapterFacts, Device};
use crate::kernels::caps::{ActivationFormat, Caps, PerLayerEmbeddings, Precision, vendor_name};
use crate::kernels::spec::Kernel;
use crate::kernels::tuned::Tuned;

/// The optional features that some variant uses, by their names in WebGPU.
const WANTED: [(&str, wgpu::Features); 2] =
    [("shader-f16", wgpu::Features::SHADER_F16), ("subgroups", wgpu::Features::SUBGROUP)];

/// wgpu with every backend of this system, or the one of `WGPU_BACKEND`.
pub fn instance() -> Result<wgpu::Instance> {
    Ok(wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env()))
}

/// The machine's adapter.
///
/// # Errors
/// Why there is none, as wgpu says it.
pub async fn adapter(
    instance: &wgpu::Instance,
    options: &wgpu::RequestAdapterOptions<'_, '_>,
) -> std::result::Result<wgpu::Adapter, String> {
    let found = instance.request_adapter(options).await;
    found.map_err(|error| format!("this machine offers no GPU adapter: {error}"))
}

/// What a device is asked for, and what its adapter says.
pub struct Request {
    adapter: wgpu::AdapterInfo,
    features: wgpu::Features,
}

impl Request {
    /// For a device of this adapter.
    pub fn new(adapter: &wgpu::Adapter) -> Self {
        let wanted = WANTED.iter().fold(wgpu::Features::empty(), |all, (_, feature)| all | *feature);
        Self { adapter: adapter.get_info(), features: wanted & adapter.features() }
    }

    /// The features to require.
    pub fn features(&self) -> wgpu::Features {
        self.features
    }

    /// What the choice of variants depends on.
    pub fn caps(&self, device: &wgpu::Device, instance: &wgpu::Instance) -> Caps {
        let limits = device.limits();
        let language = instance.wgsl_language_features();
        Caps {
            f16: self.features.contains(wgpu::Features::SHADER_F16),
            subgroups: self.features.contains(wgpu::Features::SUBGROUP),
            subgroup_size: (self.adapter.subgroup_min_size, self.adapter.subgroup_max_size),
            software: self.adapter.device_type == wgpu::DeviceType::Cpu,
            subgroup_matrix: None,
            dot4: language.contains(wgpu::WgslLanguageFeatures::Packed4x8IntegerDotProduct),
            vendor: self.vendor().to_owned(),
            activation_format: ActivationFormat::F32,
            precision: Precision::Auto,
            max_binding: limits.max_storage_buffer_binding_size,
            max_buffer: limits.max_buffer_size,
            workgroup_memory: limits.max_compute_workgroup_storage_size,
            workgroup_threads: limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x),
            per_layer_embeddings: PerLayerEmbeddings::Auto,
            tuned: Tuned::default(),
        }
    }

    /// What the adapter is.
    pub fn facts(&self) -> AdapterFacts {
        let offered = WANTED.iter().filter(|(_, feature)| self.features.contains(*feature));
        AdapterFacts {
            name: self.adapter.name.clone(),
            vendor: self.vendor().to_owned(),
            architecture: String::new(),
            software: self.adapter.device_type == wgpu::DeviceType::Cpu,
            features: offered.map(|(name, _)| (*name).to_owned()).collect(),
        }
    }

    fn vendor(&self) -> &'static str {
        vendor_name(self.adapter.vendor)
    }
}

/// A shader as wgpu's compiler takes it, which has subgroups but not their `enable` line yet (gfx-rs/wgpu issue 5555),
/// nor that diagnostic.
pub fn accepted(wgsl: String) -> String {
    let unknown = ["enable subgroups;\n", "diagnostic(off, subgroup_uniformity);\n"];
    unknown.iter().fold(wgsl, |text, line| text.replacen(line, "", 1))
}

/// Makes the module of a shader. Into the loops of a foreign shader wgpu writes a counter that ends them, which keeps
/// drivers from unrolling; a shader of this crate (`is_own`) goes without.
pub fn shader_module(
    device: &wgpu::Device,
    shader: wgpu::ShaderModuleDescriptor<'_>,
    is_own: bool,
) -> wgpu::ShaderModule {
    if !is_own {
        return device.create_shader_module(shader);
    }
    let checks = wgpu::ShaderRuntimeChecks { force_loop_bounding: false, ..wgpu::ShaderRuntimeChecks::checked() };
    // SAFETY: every loop of this crate's shaders counts to a bound and ends; accesses and divisions stay checked.
    unsafe { device.create_shader_module_trusted(shader, checks) }
}

/// Pipelines that were compiled ahead: none, since here each is compiled when it is first asked for.
pub struct Compiled;

impl Compiled {
    /// Nothing.
    pub fn new() -> Self {
        Self
    }

    /// Does nothing.
    pub fn answer(&self, _: &wgpu::Device, _: &Kernel) {}
}

/// Pipelines that are compiled in the background: none here.
#[derive(Default)]
pub struct Ahead;

impl Ahead {
    /// Does not wait.
    pub async fn done(&self) {}
}

impl Device {
    /// Starts nothing: each pipeline is compiled when it is first asked for.
    pub fn compile_ahead<'k>(&self, _: impl Iterator<Item = &'k Kernel>) -> Ahead {
        Ahead
    }

    /// Whether all of it compiled, as far as is known.
    pub async fn finish_ahead(&self, _: Ahead) -> bool {
        true
    }
}

/// Runs what answers at once, as error scopes and [`Ahead`] do here.
pub fn run(future: impl Future<Output = ()> + 'static) {
    let _ = pin!(future).poll(&mut Context::from_waker(Waker::noop()));
}

/// Runs the callbacks of submitted work. wgpu runs them while somebody polls: a thread of this device does, which waits
/// for one submit after the other, so that a token is handed out while later passes still run, and no future of this
/// crate blocks the thread that awaits it.
pub struct Responder(OnceCell<Polling>);

/// The thread, and what it waits for next.
struct Polling {
    sender: Option<Sender<wgpu::SubmissionIndex>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Polling {
    /// Waits for the end of the thread, which must not use the driver while the program ends.
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            // A panic on the thread has been printed.
            let _ = thread.join();
        }
    }
}

impl Responder {
    /// Starts no thread yet: the first call of [`Responder::respond`] does.
    pub fn new() -> Self {
        Self(OnceCell::new())
    }

    /// Lets the callbacks of all that was submitted run when it is done.
    pub fn respond(&self, device: &wgpu::Device, queue: &wgpu::Queue) {
        // An empty submit comes after all others, and after writes that wgpu has not submitted yet.
        let last = queue.submit([]);
        let polling = self.0.get_or_init(|| start(device.clone()));
        let is_sent = polling.sender.as_ref().is_some_and(|sender| sender.send(last).is_ok());
        if !is_sent {
            // There is no thread.
            let _ = device.poll(wgpu::PollType::wait_indefinitely());
        }
    }
}

/// Starts the thread, which ends with its sender.
fn start(device: wgpu::Device) -> Polling {
    let (sender, receiver) = channel();
    let work = move || {
        for index in receiver {
            // A device that is lost answers its callbacks, too.
            let _ = device.poll(wgpu::PollType::Wait { submission_index: Some(index), timeout: None });
        }
    };
    // Where no thread can start, its receiver is dropped, and each send fails.
    let thread = std::thread::Builder::new().name("webgguf".into()).spawn(work).ok();
    Polling { sender: Some(sender), thread }
}
