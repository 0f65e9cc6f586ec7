//! The wasm-bindgen face: the only place that knows JavaScript. `js/` wraps it into the public API.

mod engine;
mod errors;
mod info;
mod load;
pub mod pause;
mod source;
mod vocabulary;

use wasm_bindgen::prelude::*;

pub use engine::JsEngine;
pub use vocabulary::VocabularyHandle;

#[wasm_bindgen(start)]
fn start() {
    // A panic is a bug; it must at least say where it was.
    console_error_panic_hook::set_once();
}

/// Milliseconds since the page or worker started.
fn now() -> f64 {
    #[wasm_bindgen]
    extern "C" {
        #[wasm_bindgen(js_namespace = performance, js_name = now)]
        fn performance_now() -> f64;
    }
    performance_now()
}
