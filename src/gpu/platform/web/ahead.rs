//! Pipelines that the browser compiles all at once, before they are asked for.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;

use super::shim;
use crate::gpu::device::Device;
use crate::kernels::spec::{Access, Kernel};

/// Compiled ahead and not yet asked for, by [`Kernel::key`].
pub struct Compiled(RefCell<HashMap<String, JsValue>>);

impl Compiled {
    /// Nothing yet.
    pub fn new() -> Self {
        Self(RefCell::default())
    }

    /// Answers wgpu's next calls for the module and the pipeline of `kernel` with those that are made already, if they
    /// are.
    pub fn answer(&self, device: &wgpu::Device, kernel: &Kernel) {
        let compiled = self.0.borrow_mut().remove(&kernel.key());
        if let (Some(device), Some(compiled)) = (device.as_webgpu(), compiled) {
            shim::answer_next_calls(device.as_ref(), &compiled);
        }
    }
}

impl Device {
    /// Starts compiling the pipelines of these kernels, all at once; see `compile_pipelines.js`.
    pub fn compile_ahead<'k>(&self, kernels: impl Iterator<Item = &'k Kernel>) -> Ahead {
        let mut seen = HashSet::new();
        let known = self.pipelines.borrow();
        let is_new = |kernel: &&Kernel| seen.insert(kernel.key()) && !known.contains_key(&kernel.key());
        let new: Vec<&Kernel> = kernels.filter(is_new).collect();
        let Some(device) = self.raw.as_webgpu() else { return Ahead::default() };
        let promise = shim::compile_pipelines(
            device.as_ref(),
            new.iter().map(|kernel| describe(kernel, self.wgsl(kernel))).collect(),
        );
        Ahead { keys: new.iter().map(|kernel| kernel.key()).collect(), promise: Some(promise) }
    }

    /// Waits for what was started, which the first use of each kernel then takes. Whether all of it compiled.
    pub async fn finish_ahead(&self, Ahead { keys, promise }: Ahead) -> bool {
        let Some(promise) = promise else { return true };
        let made = JsFuture::from(promise).await.unwrap_or_else(|_| js_sys::Array::new().into());
        let made = js_sys::Array::from(&made);
        let is_whole = made.length() as usize == keys.len() && made.iter().all(|made| made.is_object());
        let good = keys.into_iter().zip(made.iter()).filter(|(_, made)| made.is_object());
        self.compiled.0.borrow_mut().extend(good);
        is_whole
    }
}

/// Pipelines that the browser compiles in the background.
#[derive(Default)]
pub struct Ahead {
    /// Of the kernels, in order.
    keys: Vec<String>,
    promise: Option<js_sys::Promise>,
}

impl Ahead {
    /// Waits until nothing is compiled any more, without a hold on the device.
    pub async fn done(&self) {
        if let Some(promise) = self.promise.clone() {
            let _ = JsFuture::from(promise).await;
        }
    }
}

/// A kernel as `compile_pipelines.js` takes it.
fn describe(kernel: &Kernel, wgsl: String) -> js_sys::Object {
    let binding = |binding: &crate::kernels::spec::Binding| match binding.access {
        Access::Uniform => JsValue::from("uniform"),
        Access::Read => "read-only-storage".into(),
        Access::ReadWrite => "storage".into(),
    };
    let constants: Vec<(&str, JsValue)> =
        kernel.constants.iter().map(|(name, value)| (*name, (*value).into())).collect();
    shim::object(&[
        ("label", kernel.id.as_str().into()),
        ("code", wgsl.into()),
        ("bindings", kernel.spec.bindings.iter().map(binding).collect::<js_sys::Array>().into()),
        ("constants", shim::object(&constants).into()),
    ])
}
