//! What `js/tuning/index.ts` measures with: the device, and a model on it that is being loaded.

use std::rc::Rc;

use js_sys::{Function, Promise, Uint32Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::device_handle::DeviceHandle;
use super::errors::to_js;
use super::promise::promise;
use crate::Error;
use crate::runtime::Tuning;

#[wasm_bindgen]
impl DeviceHandle {
    /// The browser's `GPUDevice`.
    pub fn raw(&self) -> JsValue {
        self.device.raw.as_webgpu().map_or(JsValue::UNDEFINED, |device| device.into())
    }

    /// Sets the tuning verdicts for tensors on the device. Returns the line under which these are remembered (version
    /// and adapter), then what tables were asked since the last call with `listen`: see
    /// [`Tuned`](crate::kernels::tuned::Tuned).
    pub fn tuned(&self, lines: &str, listen: bool) -> String {
        let tuned = &self.device.caps.tuned;
        let heard = tuned.heard();
        tuned.set(lines);
        if listen {
            tuned.listen();
        }
        format!("{}\n{heard}", self.device.key())
    }

    /// See [`Tuning::problems`].
    pub fn problems(&self, many: bool, as_measured: bool) -> String {
        self.tuning.as_ref().map(|tuning| tuning.problems(many, as_measured)).unwrap_or_default()
    }

    /// See [`Tuning::layers`].
    pub fn layers(&self) -> usize {
        self.tuning.as_ref().map_or(1, |tuning| tuning.layers())
    }

    /// See [`Tuning::make`].
    pub fn make(&self, lines: String, but: Option<String>, many: bool) -> Promise {
        let tuning = self.tuning.clone();
        promise(async move {
            let tuning = tuning.ok_or_else(|| to_js(Error::invalid_argument("no model is being tuned")))?;
            let made = tuning.make(&lines, but.as_deref(), many).await.map_err(to_js)?;
            Ok(Uint32Array::from(&made[..]))
        })
    }

    /// See [`Tuning::submit`].
    pub fn submit(&self, list: usize, first: usize, count: usize) {
        if let Some(tuning) = &self.tuning {
            tuning.submit(list, first, count);
        }
    }
}

/// Lets the JavaScript function `choose` tune a model. It takes a [`DeviceHandle`] of the model and `key`, and returns
/// a promise of the lines of its verdicts. Where it fails, there are no verdicts.
pub async fn tune(choose: &Function, key: &JsValue, tuning: Tuning) -> String {
    let handle = DeviceHandle { device: tuning.device(), tuning: Some(Rc::new(tuning)) };
    let lines = choose.call2(&JsValue::NULL, &handle.into(), key).unwrap_or_default();
    JsFuture::from(Promise::resolve(&lines)).await.unwrap_or_default().as_string().unwrap_or_default()
}
