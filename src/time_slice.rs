//! Time slices: long work on the page's thread yields to the event loop between them. A host has no event loop: there
//! work is never interrupted.

/// How long work may hold the thread before it yields, in milliseconds.
const SLICE_MS: f64 = 24.0;

/// The time slice that work is in.
#[derive(Debug, Clone)]
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
        Self { since: now() }
    }

    /// The same as what interpreters await: one type, so that the code of an interpreter is there once.
    pub fn turns(&mut self) -> impl AsyncFnMut() {
        async || self.yield_if_over().await
    }

    /// Yields to the event loop where this work has held the thread for longer than a time slice.
    pub async fn yield_if_over(&mut self) {
        if now() - self.since > SLICE_MS {
            yield_now().await;
            self.since = now();
        }
    }
}

#[cfg(target_arch = "wasm32")]
pub use browser::{now, yield_now};
#[cfg(not(target_arch = "wasm32"))]
pub use host::{now, yield_now};

#[cfg(target_arch = "wasm32")]
mod browser {
    use wasm_bindgen::prelude::*;
    use wasm_bindgen_futures::JsFuture;

    /// Milliseconds since the page or worker started.
    pub fn now() -> f64 {
        // By the global object, which is a window on a page and none in a worker.
        let performance = js_sys::Reflect::get(&js_sys::global(), &"performance".into()).unwrap_or_default();
        performance.unchecked_into::<web_sys::Performance>().now()
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
}

#[cfg(not(target_arch = "wasm32"))]
mod host {
    use std::sync::LazyLock;
    use std::time::Instant;

    /// Milliseconds since the first call.
    pub fn now() -> f64 {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        START.elapsed().as_secs_f64() * 1e3
    }

    /// There is nothing to yield to.
    pub async fn yield_now() {}
}
