//! Images on their way to an encoder: from pixels to the patches and tables that its program reads.
//!
//! Sizes, tiles and filters are those of llama.cpp's `mtmd`, which resizes as Pillow does.

pub mod image;
pub mod plan;
pub mod resample;
pub mod sizes;
pub mod tables;
#[cfg(target_arch = "wasm32")]
mod web;
