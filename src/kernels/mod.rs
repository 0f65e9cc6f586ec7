//! One file per shader stem: parameters, bindings, workgroups and the table that chooses a variant.
//!
//! A kernel function here returns a [`Dispatch`](spec::Dispatch), plain data that `gpu` runs; nothing here knows
//! wgpu, so the host tests see every dispatch. Binding 0 is `params`, then inputs, outputs last. A number is
//! fixed with the pipeline (an `override` constant), per dispatch (a field of `Params`) or changes with
//! every token (a word of [`State`](state::State)); nothing else.

pub mod caps;
pub mod shared;
pub mod spec;
pub mod state;

pub mod rms_norm;

use spec::KernelSpec;

/// Every kernel of the crate, by stem.
pub static CATALOGUE: &[&KernelSpec] = &[&rms_norm::SPEC];
