//! Asynchronous calls from JavaScript.

use std::pin::Pin;

use js_sys::Promise;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;

/// A promise of what `work` gives. A class's `async fn` would be a future of a type of its own, and each such type
/// takes a kilobyte of the module: here all have one.
pub fn promise<T: Into<JsValue>>(work: impl Future<Output = Result<T, JsValue>> + 'static) -> Promise {
    let work: Pin<Box<dyn Future<Output = _>>> = Box::pin(async { work.await.map(T::into) });
    future_to_promise(work)
}
