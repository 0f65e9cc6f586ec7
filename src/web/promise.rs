//! Promises for asynchronous calls from JavaScript.

use std::pin::Pin;

use js_sys::Promise;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;

/// Makes a promise of the result of `work`. Each `async fn` of a class would be a future of its own type, which takes a
/// kilobyte of the module; boxed here, all have the same type.
pub fn promise<T: Into<JsValue>>(work: impl Future<Output = Result<T, JsValue>> + 'static) -> Promise {
    let work: Pin<Box<dyn Future<Output = _>>> = Box::pin(async { work.await.map(T::into) });
    future_to_promise(work)
}
