//! What is not the same in a browser and outside: what a device is asked for and says of itself, how pipelines are
//! compiled ahead, and what makes it run the callbacks of its work. Both files have the same items.

#[cfg_attr(target_arch = "wasm32", path = "web/mod.rs")]
#[cfg_attr(not(target_arch = "wasm32"), path = "native.rs")]
mod system;

pub use system::{Ahead, run};
pub(super) use system::{Compiled, Request, Responder, accepted, adapter, instance, shader_module};
