//! The Rust side of `request_device.js` and `compile_pipelines.js`, which explain why they exist.

use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/src/gpu/platform/web/request_device.js")]
extern "C" {
    /// Wraps `GPUAdapter.requestDevice` for its next call, and returns an object that this call fills with facts about
    /// the adapter.
    #[wasm_bindgen(js_name = armRequestDevice)]
    pub fn arm_request_device(wanted: Vec<String>) -> js_sys::Object;

    /// Makes this look like a worker where it is none, which [`hide_scope`] ends. Whether that was needed.
    #[wasm_bindgen(js_name = showScope)]
    pub fn show_scope() -> bool;

    /// Ends what [`show_scope`] did.
    #[wasm_bindgen(js_name = hideScope)]
    pub fn hide_scope();

    /// Asks for an adapter of this level of features, which the next `requestAdapter` then gives. The object has
    /// `isFound`, or `why` where the browser failed.
    #[wasm_bindgen(js_name = askForAdapter, catch)]
    pub async fn ask_for_adapter(feature_level: &str) -> Result<JsValue, JsValue>;
}

#[wasm_bindgen(module = "/src/gpu/platform/web/compile_pipelines.js")]
extern "C" {
    /// Starts compiling `kernels`; the promise holds the pipelines.
    #[wasm_bindgen(js_name = compilePipelines)]
    pub fn compile_pipelines(device: &JsValue, kernels: Vec<js_sys::Object>) -> js_sys::Promise;

    /// Answers wgpu's next calls for a shader module and a pipeline with one that is made already.
    #[wasm_bindgen(js_name = answerNextCalls)]
    pub fn answer_next_calls(device: &JsValue, made: &JsValue);
}

/// Why there is no WebGPU here, if there is none.
pub fn missing() -> Option<&'static str> {
    let global = js_sys::global();
    let gpu = get(get(&global, "navigator").unchecked_ref(), "gpu");
    if gpu.is_undefined() || gpu.is_null() {
        return Some("navigator.gpu is missing");
    }
    let has_classes = !get(&global, "GPUDevice").is_undefined();
    (!has_classes).then_some("globalThis lacks GPUDevice and the other `globals` of npm's webgpu")
}

/// An object with these properties.
pub fn object(properties: &[(&str, JsValue)]) -> js_sys::Object {
    let object = js_sys::Object::new();
    for (name, value) in properties {
        let _ = js_sys::Reflect::set(&object, &(*name).into(), value);
    }
    object
}

fn get(facts: &js_sys::Object, key: &str) -> JsValue {
    js_sys::Reflect::get(facts, &key.into()).unwrap_or(JsValue::UNDEFINED)
}

/// A string property of the object that the wrapped call filled; empty if missing.
pub fn text(facts: &js_sys::Object, key: &str) -> String {
    get(facts, key).as_string().unwrap_or_default()
}

/// A number property of the object; 0 if missing.
pub fn number(facts: &js_sys::Object, key: &str) -> u32 {
    get(facts, key).as_f64().unwrap_or_default() as u32
}

/// A boolean property of the object; false if missing.
pub fn flag(facts: &js_sys::Object, key: &str) -> bool {
    get(facts, key).is_truthy()
}

/// A property of the object that is a list of strings; empty if missing.
pub fn texts(facts: &js_sys::Object, key: &str) -> Vec<String> {
    js_sys::Array::from(&get(facts, key)).iter().filter_map(|v| v.as_string()).collect()
}
