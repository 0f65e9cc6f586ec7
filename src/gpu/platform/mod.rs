//! What is not the same in a browser and outside: what a device is asked for and says of itself, how pipelines are
//! compiled ahead, and what makes it run the callbacks of its work. Both files have the same items.

#[cfg(not(target_arch = "wasm32"))]
mod native;
#[cfg(target_arch = "wasm32")]
mod web;

#[cfg(not(target_arch = "wasm32"))]
pub(super) use native::{Compiled, Request, accepted, adapter, instance, respond, run};
#[cfg(target_arch = "wasm32")]
pub use web::Ahead;
#[cfg(target_arch = "wasm32")]
pub(super) use web::{Compiled, Request, accepted, adapter, instance, respond, run};
