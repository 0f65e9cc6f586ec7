//! One folder per shader kernel: parameters, bindings, workgroups and the table that chooses a variant.
//!
//! A kernel function here returns a [`Dispatch`](spec::Dispatch), plain data that `gpu` runs; nothing here knows
//! wgpu, so the host tests see every dispatch. Binding 0 is `params`, then inputs, outputs last. A number
//! is fixed with the pipeline (an `override` constant), fixed per dispatch (a field of `Params`), or changes with every
//! token (a word of the [`Pass`](pass::Pass)); there is no fourth kind.

pub mod caps;
pub mod pass;
pub mod shaders;
pub mod spec;

pub mod kv_type;
pub mod lanes;
pub mod layout;
pub mod prologue;
pub mod tuned;

#[cfg(feature = "harness")]
use crate::harness::{Case, Suite};
use spec::KernelSpec;

/// The one list of kernels: hands each folder of `src/kernels/` that has one to the macro `$then`, as a row
/// `folder [specifications] (references) (cases);`. Modules, catalogue, references, cases and tests follow from it.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_kernel {
    ($then:ident) => {
        $then! {
            accept_drafts [SPEC] (reference) (cases);
            argmax [MERGE, SPEC] (reference) ();
            attention [DECODE, MATRICES, MERGE, SPEC, TILED] (reference, reference_merge)
                (cases, cases_matrices, cases_rotated, cases_tiled);
            attention_batch [MATRICES, SPEC, TILED] (reference) (cases, cases_matrices, cases_source, cases_tiled);
            attention_blocks [SPEC] (reference) (cases);
            attention_far [SPEC] (reference) (cases);
            attention_grid [SPEC] (reference) (cases);
            attention_near [SPEC] (reference) (cases);
            attention_strided [SPEC] (reference) (cases);
            carry_row [MOVE, ROWS, SPEC] () (cases);
            channel_scan [SPEC] (reference) (cases);
            conv_causal [SPEC] (reference) (cases);
            conv_grid [SPEC] (reference) (cases);
            cumsum [SPEC] () ();
            delta_net [SPEC] (reference) (cases);
            elementwise [IN_PLACE, SPEC] (reference) (cases);
            fill [SPEC] (reference) (cases);
            find_rows [SPEC] (reference) (cases);
            gather [SPEC] (reference) (cases);
            gather_axis [SCATTER, SPEC] (reference) (cases);
            hadamard [SPEC] (reference) (cases);
            head_values [SPEC] (reference) (cases);
            join_heads [SPEC] (reference) (cases);
            kv_write [SPEC] (reference) (cases);
            layer_norm [RMS, SPEC] (reference) (cases);
            lerp [SPEC] (reference) (cases);
            logit_bias [SPEC] () ();
            lora [A, A_ROW, B, EXPERTS, SPEC] (reference) (cases, cases_experts);
            mat_mul [EIGHT, SPEC] (reference) (cases);
            mat_mul_dense [FEW_SPEC, SPEC] (reference) (cases, cases_blocks);
            mat_mul_experts [ADD, SPEC, TILES] () ();
            mat_mul_f16 [ROUND, SPEC] (reference) (cases);
            mat_mul_grouped [EACH, ROWS, SPEC, SUM] (reference) (cases);
            mat_mul_int8 [QUANTISE, SPEC] (reference) (cases);
            mat_mul_subgroup_matrix [ROUND, SPEC] (reference) (cases);
            mat_vec [COLUMNS, SPEC, SPLIT] (reference) (cases);
            mat_vec_experts [SPEC] () ();
            mix [SPEC] (reference) (cases);
            movement [CONCAT, EXPAND, NARROW, TRANSPOSE, TRANSPOSE_TILED] (reference) (cases);
            norm [SPEC] (reference) (cases);
            output_gate [SPEC] (reference) (cases);
            pool [SPEC] (reference) (cases);
            reduce [ARGMAX, SPEC] (reference) (cases);
            repack [SPEC] (packed, reference) (cases);
            rope [SPEC, TABLE] (reference, reference_table) (cases);
            rope_batch [SPEC] () (cases);
            rope_kv [SPEC] () (cases);
            route [SPEC] (reference) ();
            sample [CANDIDATES, HISTOGRAM, PENALTIES, SPEC] () (cases, cases_masks);
            selective_scan [SPEC] (reference) (cases);
            sinkhorn [COLUMNS, ROWS, SPEC] (reference) (cases);
            softmax [SPEC] (reference) (cases);
            sort_pairs [SPEC] () (cases);
            spread [SPEC] (reference) (cases);
            ssm_scan [CHUNK_PRODUCTS, CHUNK_SCAN, SPEC] (reference) (cases);
            streams [SPEC] (reference) (cases);
            swiglu [SPEC] (reference) (cases);
            switch [SPEC] (reference) (cases);
            top_k [SPEC] () ();
            turn [SPEC] (reference) (cases);
            unpack_f16 [SPEC] () (cases);
            wkv [SPEC] (reference) (cases);
            wkv_output [SPEC] (reference) (cases);
        }
    };
}

macro_rules! modules {
    ($($name:ident [$($spec:ident),*] ($($reference:ident),*) ($($cases:ident),*);)*) => {
        $(pub mod $name;)*

        /// Every kernel of models and of operations on tensors.
        pub static CATALOGUE: &[&KernelSpec] = &[$($(&$name::$spec,)*)*];

        /// Every kernel in plain Rust: what the tests compare the GPU with, and what [`cpu`](crate::cpu) computes with.
        ///
        /// Each is a function of slices with its shapes in the doc comment; activations are f32, row-major, the token
        /// outermost. The functions check shapes with assertions: a wrong shape is a bug of the caller, never of a
        /// file, whose numbers `config` and `model` have checked.
        pub mod reference {
            pub use super::kv_type::cache::{CacheElement, HeadRows};
            pub use super::kv_type::cache_blocks::{RoundedBlock, round_block};
            $($(pub use super::$name::$reference::*;)*)*
        }

        /// The cases of all kernels.
        #[cfg(feature = "harness")]
        pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
            let cases: &[fn(&Suite) -> Vec<Case>] = &[$($($name::$cases::cases,)*)*];
            cases.iter().flat_map(|cases| cases(suite)).collect()
        }
    };
}

for_each_kernel!(modules);
