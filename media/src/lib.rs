//! Images and sounds on their way to an encoder: from pixels or samples to the patches and tables that its program
//! reads.
//!
//! Sizes, tiles, filters and spectrograms are those of llama.cpp's `mtmd`, which resizes as Pillow does.

pub mod chunks;
pub mod conformer;
pub mod image;
pub mod mel;
pub mod plan;
pub mod rate;
pub mod resample;
pub mod sizes;
pub mod sound;
pub mod steps;
pub mod tables;
pub mod transform;
pub mod wave;
#[cfg(target_arch = "wasm32")]
mod web;
