//! Prepares images and sounds for encoders: from pixels or samples to the patches and tables that an encoder's program
//! reads.
//!
//! Sizes, tiles, filters and spectrograms equal those of llama.cpp's `mtmd`, which resizes as Pillow does.

pub mod arriving;
pub mod assembled;
mod chunks;
pub mod conformer;
pub mod eighths;
pub mod forms;
pub mod image;
pub mod mel;
pub mod pages;
pub mod pairs;
pub mod plan;
pub mod positions;
pub mod rate;
pub mod resample;
pub mod sizes;
pub mod slices;
pub mod sound;
pub mod steps;
pub mod tables;
pub mod transform;
pub mod wave;
#[cfg(target_arch = "wasm32")]
mod web;
