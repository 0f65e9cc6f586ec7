//! What `js/tuning/index.ts` measures with: a model that is being loaded, and its device.

use std::rc::Rc;

use js_sys::{Function, Promise, Uint32Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::errors::to_js;
use super::promise::promise;
use super::tensor::DeviceHandle;
use crate::Error;
use crate::runtime::Tuning;

#[wasm_bindgen]
impl DeviceHandle {
    /// The browser's object.
    pub fn raw(&self) -> JsValue {
        self.device.raw.as_webgpu().map_or(JsValue::UNDEFINED, |device| device.into())
    }

    /// Sets the verdicts of tensors on it. Gives a line that they are remembered by, version and adapter, and what
    /// tables were asked since the last call that had `listen`: see [`Tuned`](crate::kernels::tuned::Tuned).
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
    pub fn problems(&self, many: bool) -> String {
        self.tuning.as_ref().map(|tuning| tuning.problems(many)).unwrap_or_default()
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

/// Lets a function of JavaScript choose: it takes a [`DeviceHandle`] of the model and `key`, and gives a promise of the
/// lines of its verdicts. Where it fails, no table changes.
pub async fn tune(choose: &Function, key: &JsValue, tuning: Tuning) -> String {
    let handle = DeviceHandle { device: tuning.device(), tuning: Some(Rc::new(tuning)) };
    let lines = choose.call2(&JsValue::NULL, &handle.into(), key).unwrap_or_default();
    JsFuture::from(Promise::resolve(&lines)).await.unwrap_or_default().as_string().unwrap_or_default()
}
