//! Letting the page breathe during long work on the main thread.

use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

/// How long work may hold the thread before the page gets its turn.
const SLICE_MS: f64 = 24.0;

/// Says when the page is due.
pub struct Pause {
    since: f64,
}

impl Default for Pause {
    fn default() -> Self {
        Self::new()
    }
}

impl Pause {
    /// Starts counting now.
    pub fn new() -> Self {
        Self { since: super::now() }
    }

    /// Gives the page its turn where this work has held the thread for long.
    pub async fn if_due(&mut self) {
        if super::now() - self.since > SLICE_MS {
            turn().await;
            self.since = super::now();
        }
    }
}

/// Comes back with the next task of the event loop.
pub async fn turn() {
    #[wasm_bindgen]
    extern "C" {
        #[wasm_bindgen(js_name = setTimeout)]
        fn set_timeout(callback: &js_sys::Function, ms: i32) -> JsValue;
    }
    let promise = js_sys::Promise::new(&mut |resolve, _| drop(set_timeout(&resolve, 0)));
    let _ = JsFuture::from(promise).await;
}
