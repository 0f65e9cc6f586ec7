//! Adapter and device: what the browser offers, errors reported outside of calls, how many bytes are on the GPU.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use wasm_bindgen::JsValue;

use super::pipeline::Pipeline;
use super::shim;
use super::unpack_f16::keeps_subnormals;
use crate::kernels::caps::{ActivationFormat, Caps, MatrixShape, PerLayerEmbeddings};
use crate::kernels::spec::Kernel;
use crate::{Error, ErrorCode, Result};

/// What the browser says about the adapter.
#[derive(Debug, Clone, Default)]
pub struct AdapterFacts {
    /// The best name the browser gives: description, or vendor and architecture.
    pub name: String,
    /// `GPUAdapterInfo.vendor`.
    pub vendor: String,
    /// `GPUAdapterInfo.architecture`.
    pub architecture: String,
    /// A software adapter, which computes on the CPU: correct, but far slower than the CPU path.
    pub software: bool,
    /// WebGPU features that the device has and webgguf uses.
    pub features: Vec<String>,
}

/// What WebGPU reported outside a call.
#[derive(Default)]
struct Reports {
    /// The first error, until a check returns it.
    first: Option<Error>,
    /// Why the device was lost; every later check repeats it.
    lost: Option<Error>,
}

type Mailbox = Arc<Mutex<Reports>>;

/// One device, shared by the models and tensors on it. When the last of them is dropped, it is destroyed.
pub struct Device {
    /// As wgpu has it.
    pub raw: wgpu::Device,
    /// Its queue.
    pub queue: wgpu::Queue,
    /// What the choice of variants depends on.
    pub caps: Caps,
    /// For people.
    pub adapter: AdapterFacts,
    pub(super) pipelines: Rc<RefCell<HashMap<String, Rc<Pipeline>>>>,
    /// Compiled ahead and not yet asked for, by [`crate::kernels::spec::Kernel::key`].
    pub(super) compiled: RefCell<HashMap<String, JsValue>>,
    /// Whether shaders convert f16 in integers: see `kernels/unpack_f16.rs`.
    pub(super) f16_in_integers: bool,
    /// Bytes of all buffers.
    pub(super) in_use: Rc<Cell<u64>>,
    errors: Mailbox,
}

impl Drop for Device {
    fn drop(&mut self) {
        self.raw.destroy();
    }
}

/// The optional WebGPU features that some variant uses.
const WANTED: [&str; 3] = ["shader-f16", "subgroups", SUBGROUP_MATRIX];

/// Behind a flag of Chromium, and so is its name.
const SUBGROUP_MATRIX: &str = "chromium-experimental-subgroup-matrix";

impl Device {
    /// Opens a device on the browser's high-performance adapter, with the adapter's own limits.
    ///
    /// # Errors
    /// `webgpu_unavailable` where the browser has no WebGPU or no adapter, `device_lost` where the device fails at
    /// once.
    pub async fn open() -> Result<Self> {
        let unavailable = |what: String| Error::new(ErrorCode::WebgpuUnavailable, what);
        if !shim::has_webgpu() {
            return Err(unavailable("WebGPU is not available here: navigator.gpu is missing".into()));
        }
        let descriptor = wgpu::InstanceDescriptor {
            backends: wgpu::Backends::BROWSER_WEBGPU,
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        };
        let instance = wgpu::Instance::new(descriptor);
        let options = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..Default::default()
        };
        let adapter = instance.request_adapter(&options).await;
        let adapter = adapter.map_err(|_| unavailable("this browser offers no WebGPU adapter".into()))?;
        let facts = shim::arm_request_device(WANTED.iter().map(|&name| name.to_owned()).collect());
        let descriptor =
            wgpu::DeviceDescriptor { label: Some("webgguf"), required_limits: adapter.limits(), ..Default::default() };
        let device = adapter.request_device(&descriptor).await;
        let (device, queue) = device.map_err(|e| unavailable(format!("the adapter gave no device: {e}")))?;
        let errors = listen(&device);
        let caps = caps(&device, &instance, &facts);
        let adapter = adapter_facts(&facts);
        let mut device = Self {
            raw: device,
            queue,
            caps,
            adapter,
            pipelines: Rc::default(),
            compiled: RefCell::default(),
            f16_in_integers: false,
            in_use: Rc::default(),
            errors,
        };
        device.f16_in_integers = !keeps_subnormals(&device).await?;
        device.pipelines.borrow_mut().clear();
        Ok(device)
    }

    /// Fails with the first error that WebGPU reported since the last call, and always once the device is lost.
    pub fn check(&self) -> Result<()> {
        let Ok(mut reports) = self.errors.lock() else { return Ok(()) };
        let first = reports.first.take();
        first.or(reports.lost.clone()).map_or(Ok(()), Err)
    }

    /// Reports what is wrong with a shader that a page gave, and forgets it, so that each use of it says so.
    pub(super) fn blame_page(&self, error: impl Future<Output = Option<wgpu::Error>> + 'static, kernel: &Kernel) {
        let (errors, pipelines) = (self.errors.clone(), self.pipelines.clone());
        let (key, label) = (kernel.key(), kernel.spec.kernel_name);
        wasm_bindgen_futures::spawn_local(async move {
            let (Some(error), Ok(mut reports)) = (error.await, errors.lock()) else { return };
            reports.first = Some(Error::invalid_argument(format!("shader '{label}': {error}")));
            pipelines.borrow_mut().remove(&key);
        });
    }

    /// Bytes that a buffer may have to be bound whole.
    pub fn largest_binding(&self) -> u64 {
        self.caps.max_binding.min(self.caps.max_buffer)
    }

    /// Bytes of all buffers on this device.
    pub fn bytes(&self) -> u64 {
        self.in_use.get()
    }

    /// Resolves when the GPU has done all that was submitted. Costs about 2.6 ms in Chromium whatever the work:
    /// for loading only.
    pub async fn finish(&self) -> Result<()> {
        // A device that is lost drops the callback; `check` then says so.
        let _ = self.submitted().await;
        self.check()
    }

    /// Resolves when the GPU has done what was submitted before this call, and does not wait for what comes later.
    pub fn submitted(&self) -> futures_channel::oneshot::Receiver<()> {
        let (sender, receiver) = futures_channel::oneshot::channel();
        self.queue.on_submitted_work_done(move || {
            let _ = sender.send(());
        });
        receiver
    }
}

fn listen(device: &wgpu::Device) -> Mailbox {
    let errors = Mailbox::default();
    let mailbox = errors.clone();
    device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
        let code = match &error {
            wgpu::Error::OutOfMemory { .. } => ErrorCode::OutOfMemory,
            _ => ErrorCode::DeviceLost,
        };
        if let Ok(mut reports) = mailbox.lock() {
            reports.first.get_or_insert(Error::new(code, format!("the GPU reported: {error}")));
        }
    }));
    let mailbox = errors.clone();
    // A device that `drop` destroyed reports its loss, too; no check follows then.
    device.set_device_lost_callback(move |_, message| {
        if let Ok(mut reports) = mailbox.lock() {
            reports.lost = Some(Error::new(ErrorCode::DeviceLost, format!("the GPU device was lost: {message}")));
        }
    });
    errors
}

fn caps(device: &wgpu::Device, instance: &wgpu::Instance, facts: &js_sys::Object) -> Caps {
    let features = shim::texts(facts, "features");
    let limits = device.limits();
    let has = |name: &str| features.iter().any(|feature| feature == name);
    let language = instance.wgsl_language_features();
    let subgroup_size = (shim::number(facts, "subgroupMinSize"), shim::number(facts, "subgroupMaxSize"));
    let one_size = subgroup_size.0 > 0 && subgroup_size.0 == subgroup_size.1;
    let has_matrices = has(SUBGROUP_MATRIX) && has("shader-f16") && one_size;
    let matrices = shim::texts(facts, "subgroupMatrices");
    let offered = |shape: &MatrixShape| has_matrices && matrices.contains(&format!("f16 f32 {}", shape.name()));
    Caps {
        f16: has("shader-f16"),
        subgroups: has("subgroups"),
        subgroup_size,
        subgroup_matrix: MatrixShape::ALL.into_iter().find(offered),
        dot4: language.contains(wgpu::WgslLanguageFeatures::Packed4x8IntegerDotProduct),
        vendor: shim::text(facts, "vendor").to_lowercase(),
        activation_format: ActivationFormat::F32,
        max_binding: limits.max_storage_buffer_binding_size,
        max_buffer: limits.max_buffer_size,
        per_layer_embeddings: PerLayerEmbeddings::Auto,
    }
}

fn adapter_facts(facts: &js_sys::Object) -> AdapterFacts {
    let (vendor, architecture) = (shim::text(facts, "vendor"), shim::text(facts, "architecture"));
    let description = shim::text(facts, "description");
    let name = if description.is_empty() { format!("{vendor} {architecture}").trim().to_owned() } else { description };
    let features = shim::texts(facts, "features").into_iter().filter(|name| WANTED.contains(&name.as_str())).collect();
    AdapterFacts { name, vendor, architecture, software: shim::flag(facts, "software"), features }
}
