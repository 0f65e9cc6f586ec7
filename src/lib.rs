//! **webgguf**: GGUF language models in the browser on WebGPU.
//!
//! Bytes of a GGUF file come from a source in pieces; `gguf` reads the header, `config` turns metadata into numbers,
//! `model` says which tensor plays which role, `forward` writes the command lists of one pass, `gpu` runs them,
//! `sampler` chooses the next token, `generate` drives the loop and `tokenizer` turns ids into text. `kernels`
//! describes the shaders as data, `tensor` the operations on tensors that they make, `reference` is their twin on the
//! CPU and the way without a GPU, `backend` is either.
//!
//! Only `gpu` knows wgpu and only `web` knows JavaScript: these two, `backend` and `generate` exist on wasm32 alone,
//! the rest compiles on any host.

#[cfg(target_arch = "wasm32")]
pub mod backend;
pub mod config;
pub mod error;
pub mod forward;
#[cfg(target_arch = "wasm32")]
pub mod generate;
pub mod gguf;
#[cfg(target_arch = "wasm32")]
pub mod gpu;
#[cfg(feature = "harness")]
pub mod harness;
pub mod kernels;
pub mod model;
pub mod reference;
pub mod sampler;
pub mod tensor;
pub mod tokenizer;
#[cfg(target_arch = "wasm32")]
pub mod web;
mod yielding;

pub use error::{Error, ErrorCode, Result};
