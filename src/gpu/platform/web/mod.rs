//! In a browser, and in other programs that have `navigator.gpu`: their WebGPU.

mod ahead;
mod shim;

pub use ahead::{Ahead, Compiled};

use crate::gpu::device::AdapterFacts;
use crate::kernels::caps::{ActivationFormat, Caps, MatrixShape, PerLayerEmbeddings, Precision, vendor_name};
use crate::kernels::tuned::Tuned;
use crate::{Error, ErrorCode, Result};
use wasm_bindgen::JsCast;

/// The optional WebGPU features that some variant uses, and what `js/tuning/index.ts` measures with.
const WANTED: [&str; 4] = ["shader-f16", "subgroups", SUBGROUP_MATRIX, "timestamp-query"];

/// Behind a flag of Chromium, and so is its name.
const SUBGROUP_MATRIX: &str = "chromium-experimental-subgroup-matrix";

/// wgpu over `navigator.gpu`.
///
/// # Errors
/// `webgpu_unavailable` where there is none.
pub fn instance() -> Result<wgpu::Instance> {
    if let Some(missing) = shim::missing() {
        let message = format!("WebGPU is not available here: {missing}");
        return Err(Error::new(ErrorCode::WebgpuUnavailable, message));
    }
    let is_shown = shim::show_scope();
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: wgpu::Backends::BROWSER_WEBGPU,
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    if is_shown {
        shim::hide_scope();
    }
    Ok(instance)
}

/// The browser's adapter: one with all of WebGPU or else, as on devices that have OpenGL ES alone, one in
/// compatibility mode. Kernels need nothing that this mode leaves out, but for limits, which `Device::open` checks.
///
/// # Errors
/// Why there is none: the browser has none, throws, or does not answer.
pub async fn adapter(
    instance: &wgpu::Instance,
    options: &wgpu::RequestAdapterOptions<'_, '_>,
) -> std::result::Result<wgpu::Adapter, String> {
    for level in ["core", "compatibility"] {
        let facts =
            shim::ask_for_adapter(level).await.map_err(|_| "the browser was asked for no adapter".to_owned())?;
        let facts = facts.unchecked_ref();
        let why = shim::text(facts, "why");
        if !why.is_empty() {
            return Err(format!("navigator.gpu gave no WebGPU adapter: {why}"));
        }
        if shim::flag(facts, "isFound")
            && let Ok(adapter) = instance.request_adapter(options).await
        {
            return Ok(adapter);
        }
    }
    Err("navigator.gpu offers no WebGPU adapter".into())
}

/// What a device is asked for, and what its adapter says: an object that the request fills.
pub struct Request(js_sys::Object);

impl Request {
    /// For a device of this adapter, which is to be requested next.
    pub fn new(_: &wgpu::Adapter) -> Self {
        Self(shim::arm_request_device(WANTED.iter().map(|&name| name.to_owned()).collect()))
    }

    /// None: `request_device.js` adds those that are wanted.
    pub fn features(&self) -> wgpu::Features {
        wgpu::Features::empty()
    }

    /// What the choice of variants depends on.
    pub fn caps(&self, device: &wgpu::Device, _: &wgpu::Instance) -> Caps {
        let facts = &self.0;
        let features = shim::texts(facts, "features");
        let limits = device.limits();
        let has = |name: &str| features.iter().any(|feature| feature == name);
        let subgroup_size = (shim::number(facts, "subgroupMinSize"), shim::number(facts, "subgroupMaxSize"));
        let one_size = subgroup_size.0 > 0 && subgroup_size.0 == subgroup_size.1;
        let has_matrices = has(SUBGROUP_MATRIX) && has("shader-f16") && one_size;
        let matrices = shim::texts(facts, "subgroupMatrices");
        let offered = |shape: &MatrixShape| has_matrices && matrices.contains(&format!("f16 f32 {}", shape.name()));
        Caps {
            f16: has("shader-f16"),
            subgroups: has("subgroups"),
            subgroup_size,
            software: shim::flag(facts, "software"),
            subgroup_matrix: MatrixShape::ALL.into_iter().find(offered),
            dot4: shim::flag(facts, "dot4"),
            vendor: self.vendor().to_ascii_lowercase(),
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
        let facts = &self.0;
        let (vendor, architecture) = (self.vendor(), shim::text(facts, "architecture"));
        let description = shim::text(facts, "description");
        let name =
            if description.is_empty() { format!("{vendor} {architecture}").trim().to_owned() } else { description };
        let features =
            shim::texts(facts, "features").into_iter().filter(|name| WANTED.contains(&name.as_str())).collect();
        let software = shim::flag(facts, "software");
        AdapterFacts { name, vendor, architecture, software, features }
    }

    /// The vendor by its name, where Deno gives its PCI id.
    fn vendor(&self) -> String {
        let vendor = shim::text(&self.0, "vendor");
        vendor.parse().map_or(vendor, |id| vendor_name(id).to_owned())
    }
}

/// A shader as the browser's compiler takes it: as it is.
pub fn accepted(wgsl: String) -> String {
    wgsl
}

/// The browser's compiler makes the same of every shader.
pub fn shader_module(device: &wgpu::Device, shader: wgpu::ShaderModuleDescriptor<'_>, _: bool) -> wgpu::ShaderModule {
    device.create_shader_module(shader)
}

/// Runs it in the background.
pub fn run(future: impl Future<Output = ()> + 'static) {
    wasm_bindgen_futures::spawn_local(future);
}

/// Runs the callbacks of submitted work: browsers do it by themselves.
pub struct Responder;

impl Responder {
    /// Nothing.
    pub fn new() -> Self {
        Self
    }

    /// Does nothing.
    pub fn respond(&self, _: &wgpu::Device, _: &wgpu::Queue) {}
}
