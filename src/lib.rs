//! **webgguf**: GGUF language models in the browser on WebGPU, and tensors on the GPU from Rust.
#![cfg_attr(feature = "tensors", doc = "", doc = include_str!("api/tensors.md"))]
//!
//! # Inside
//!
//! Bytes of a GGUF file come from a source in pieces; `gguf` reads the header, `formats` says what blocks are, `model`
//! turns metadata into numbers and a program of operations, and says which tensor plays which role, `forward` writes
//! the command lists of one pass, `gpu` runs them, `sampler` chooses the next token, `runtime` has sessions and drives
//! the loop, and `tokenizer` turns ids into text. `kernels` describes the shaders as data, `tensor` the operations on
//! tensors that they make, `kernels::reference` has their twins on the CPU, with which `cpu` runs without a GPU.
//!
//! Only `gpu` knows wgpu and only `web` what JavaScript hands over. `web` and the parts of `runtime` that run models on
//! the GPU exist on wasm32 alone, `gpu` there and with the feature `tensors`, which `api` needs; the rest compiles on
//! any host.

#[cfg(feature = "tensors")]
mod api;
#[cfg(feature = "harness")]
pub mod compute;
pub mod cpu;
mod digest;
pub mod error;
pub mod formats;
pub mod forward;
pub mod gguf;
pub mod gpu;
#[cfg(feature = "harness")]
pub mod harness;
pub mod kernels;
pub mod model;
pub mod runtime;
pub mod sampler;
mod simd;
mod sort;
pub mod tensor;
pub mod time_slice;
pub mod tokenizer;
#[cfg(target_arch = "wasm32")]
pub mod web;
mod yielding;

#[cfg(feature = "tensors")]
pub use api::*;
pub use error::{Error, ErrorCode, Result};
