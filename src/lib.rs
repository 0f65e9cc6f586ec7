//! **webgguf**: GGUF language models in the browser on WebGPU; for Rust programs the same models, and tensors on the
//! GPU.
#![cfg_attr(all(feature = "tensors", not(target_arch = "wasm32")), doc = "", doc = include_str!("api/models.md"))]
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
//! Only `gpu` knows wgpu and only `web` what JavaScript hands over. `web` exists on wasm32 alone; everything else
//! compiles on any host. The modules are public for this crate's own tests and hidden from its docs; programs use what
//! the root exports.

#![deny(missing_docs)]

#[cfg(feature = "tensors")]
mod api;
#[cfg(feature = "harness")]
#[doc(hidden)]
pub mod compute;
#[doc(hidden)]
pub mod cpu;
mod digest;
#[doc(hidden)]
pub mod error;
#[doc(hidden)]
pub mod formats;
#[doc(hidden)]
pub mod forward;
#[doc(hidden)]
pub mod gguf;
#[doc(hidden)]
pub mod gpu;
#[cfg(feature = "harness")]
#[doc(hidden)]
pub mod harness;
#[doc(hidden)]
pub mod kernels;
#[doc(hidden)]
pub mod model;
#[doc(hidden)]
pub mod runtime;
#[doc(hidden)]
pub mod sampler;
mod simd;
mod sort;
#[doc(hidden)]
pub mod tensor;
#[doc(hidden)]
pub mod time_slice;
#[doc(hidden)]
pub mod tokenizer;
#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub mod web;
mod yielding;

#[cfg(feature = "tensors")]
pub use api::*;
pub use error::{Error, ErrorCode, Result};
