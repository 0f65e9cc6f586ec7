//! What a test tells: in the browser's console, or on standard output.

#[cfg(not(target_arch = "wasm32"))]
pub use std::println as console_log;

#[cfg(target_arch = "wasm32")]
pub use wasm_bindgen_test::console_log;
