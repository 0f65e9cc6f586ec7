//! Adapter and device: what the browser offers, errors reported outside of calls, how many bytes are on the GPU.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use super::pipeline::Pipeline;
use super::platform::{self, Compiled, Request, Responder};
use super::unpack_f16::keeps_subnormals;
use crate::kernels::caps::Caps;
use crate::kernels::spec::Kernel;
use crate::{Error, ErrorCode, Result};

/// What the browser or the driver says about the adapter.
#[derive(Debug, Clone, Default)]
pub struct AdapterFacts {
    /// The driver's name, or the best that the browser gives: description, or vendor and architecture.
    pub name: String,
    /// `GPUAdapterInfo.vendor`.
    pub vendor: String,
    /// `GPUAdapterInfo.architecture`; empty outside browsers.
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
    /// The first error of what tensors did, and of shaders that a page gave: none of a model's business.
    of_tensors: Option<Error>,
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
    pub(super) compiled: Compiled,
    responder: Responder,
    /// Whether shaders convert f16 in integers: see `kernels/unpack_f16/mod.rs`.
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

/// What an adapter has too little of, if anything: WebGPU promises this much everywhere but in compatibility mode.
fn missing(limits: &wgpu::Limits) -> Option<String> {
    let needed = [
        ("storage buffers in a shader", limits.max_storage_buffers_per_shader_stage, 8),
        ("threads in a workgroup", limits.max_compute_invocations_per_workgroup, 256),
        ("threads along an axis of a workgroup", limits.max_compute_workgroup_size_x, 256),
        ("bytes of workgroup memory", limits.max_compute_workgroup_storage_size, 16 << 10),
    ];
    let (what, found, needed) = needed.into_iter().find(|(_, found, needed)| found < needed)?;
    Some(format!("the GPU adapter offers {found} {what}, the kernels need {needed}"))
}

impl Device {
    /// Opens a device on the high-performance adapter of the browser or, outside, of the machine.
    ///
    /// # Errors
    /// `webgpu_unavailable` where there is no WebGPU, no driver or no adapter, `device_lost` where the device fails at
    /// once.
    pub async fn open() -> Result<Self> {
        let unavailable = |what: String| Error::new(ErrorCode::WebgpuUnavailable, what);
        let instance = platform::instance()?;
        let options = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..Default::default()
        };
        let adapter = platform::adapter(&instance, &options).await;
        let adapter = adapter.map_err(unavailable)?;
        if let Some(missing) = missing(&adapter.limits()) {
            return Err(unavailable(missing));
        }
        let request = Request::new(&adapter);
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("webgguf"),
            required_features: request.features(),
            required_limits: adapter.limits(),
            ..Default::default()
        };
        let device = adapter.request_device(&descriptor).await;
        let (device, queue) = device.map_err(|e| unavailable(format!("the adapter gave no device: {e}")))?;
        let errors = listen(&device);
        let caps = request.caps(&device, &instance);
        let adapter = request.facts();
        let mut device = Self {
            raw: device,
            queue,
            caps,
            adapter,
            pipelines: Rc::default(),
            compiled: Compiled::new(),
            responder: Responder::new(),
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

    /// Runs work of tensors. What WebGPU says of it is kept for [`Device::check_tensors`]: a model on the same device
    /// goes on.
    pub(super) fn for_tensors<T>(&self, work: impl FnOnce() -> T) -> T {
        let validation = self.raw.push_error_scope(wgpu::ErrorFilter::Validation);
        let memory = self.raw.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let value = work();
        let (memory, validation) = (memory.pop(), validation.pop());
        let errors = self.errors.clone();
        platform::run(async move {
            let error = memory.await.or(validation.await);
            if let (Some(error), Ok(mut reports)) = (error, errors.lock()) {
                reports.of_tensors.get_or_insert(reported(&error));
            }
        });
        value
    }

    /// Fails with the first error of work of tensors since the last call.
    pub(super) fn check_tensors(&self) -> Result<()> {
        let Ok(mut reports) = self.errors.lock() else { return Ok(()) };
        reports.of_tensors.take().map_or(Ok(()), Err)
    }

    /// Reports what is wrong with a shader that a page gave, and forgets it, so that each use of it says so.
    pub(super) fn blame_page(&self, error: impl Future<Output = Option<wgpu::Error>> + 'static, kernel: &Kernel) {
        let (errors, pipelines) = (self.errors.clone(), self.pipelines.clone());
        let (key, label) = (kernel.key(), kernel.spec.kernel_name);
        platform::run(async move {
            let (Some(error), Ok(mut reports)) = (error.await, errors.lock()) else { return };
            reports.of_tensors = Some(Error::invalid_argument(format!("shader '{label}': {error}")));
            pipelines.borrow_mut().remove(&key);
        });
    }

    /// The interface of the driver: `vulkan`, `metal`, `dx12`; `webgpu` in a browser.
    pub fn backend(&self) -> &'static str {
        self.raw.adapter_info().backend.to_str()
    }

    /// What verdicts on its kernels are remembered by: this version and the adapter.
    pub fn key(&self) -> String {
        let AdapterFacts { vendor, architecture, name, .. } = &self.adapter;
        format!("{} {vendor} {architecture} {name}", env!("CARGO_PKG_VERSION"))
    }

    /// Bytes that a buffer may have to be bound whole.
    pub fn largest_binding(&self) -> u64 {
        self.caps.max_binding.min(self.caps.max_buffer)
    }

    /// Bytes of all buffers on this device.
    pub fn bytes(&self) -> u64 {
        self.in_use.get()
    }

    /// Runs `make`, which makes buffers; `None` where the GPU had no memory for all of them: the device stays as good
    /// as before, and what was made is to be dropped.
    pub async fn try_make<T>(&self, make: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
        let scope = self.raw.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let made = make();
        // The scope is closed before anything else can happen on the device.
        let error = scope.pop().await;
        made.map(|made| error.is_none().then_some(made))
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
        self.respond();
        receiver
    }

    /// Lets the callbacks of all that was submitted run when it is done.
    pub(super) fn respond(&self) {
        self.responder.respond(&self.raw, &self.queue);
    }
}

/// An error of a device that is not lost.
fn reported(error: &wgpu::Error) -> Error {
    let code = match error {
        wgpu::Error::OutOfMemory { .. } => ErrorCode::OutOfMemory,
        _ => ErrorCode::Internal,
    };
    Error::new(code, format!("the GPU reported: {error}"))
}

fn listen(device: &wgpu::Device) -> Mailbox {
    let errors = Mailbox::default();
    let mailbox = errors.clone();
    device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
        if let Ok(mut reports) = mailbox.lock() {
            reports.first.get_or_insert(reported(&error));
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
