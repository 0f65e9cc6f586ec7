//! The wasm-bindgen classes: the only place that knows JavaScript. `js/` wraps them into the public API.

mod constraint;
mod device_handle;
mod encoder;
mod engine;
mod errors;
mod generate_options;
#[cfg(feature = "harness")]
mod harness;
mod header;
mod info;
mod inspect;
mod load;
mod logprobs;
mod one_at_a_time;
mod place;
mod progress;
mod promise;
#[cfg(feature = "harness")]
mod reading;
mod results;
mod rows;
mod session;
mod shaders;
mod source;
mod table;
mod tensor;
mod threads;
mod training;
mod tuning;
mod upload;
mod vocabulary;

use wasm_bindgen::prelude::*;

pub use device_handle::DeviceHandle;
pub use engine::WasmModel;
#[cfg(feature = "harness")]
pub use harness::Harness;
pub use inspect::inspect;
pub use shaders::{give_device, give_rare};
pub use tensor::TensorEngine;
pub use vocabulary::VocabularyHandle;

#[wasm_bindgen(start)]
fn start() {
    // A panic is a bug, and must at least say where it happened.
    console_error_panic_hook::set_once();
}
