//! Time slices: long work on the page's thread yields to the event loop between them.

use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

/// How long work may hold the thread before it yields, in milliseconds.
const SLICE_MS: f64 = 24.0;

/// The time slice that work is in.
pub struct TimeSlice {
    since: f64,
}

impl Default for TimeSlice {
    fn default() -> Self {
        Self::new()
    }
}

impl TimeSlice {
    /// Starts counting now.
    pub fn new() -> Self {
        Self { since: super::now() }
    }

    /// Yields to the event loop where this work has held the thread for longer than a time slice.
    pub async fn yield_if_over(&mut self) {
        if super::now() - self.since > SLICE_MS {
            yield_now().await;
            self.since = super::now();
        }
    }
}

/// Resumes in a later task of the event loop.
pub async fn yield_now() {
    #[wasm_bindgen]
    extern "C" {
        #[wasm_bindgen(js_name = setTimeout)]
        fn set_timeout(callback: &js_sys::Function, ms: i32) -> JsValue;
    }
    let promise = js_sys::Promise::new(&mut |resolve, _| drop(set_timeout(&resolve, 0)));
    let _ = JsFuture::from(promise).await;
}
