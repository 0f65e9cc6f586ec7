//! One file per shader kernel: parameters, bindings, workgroups and the table that chooses a variant.
//!
//! A kernel function here returns a [`Dispatch`](spec::Dispatch), plain data that `gpu` runs; nothing here knows
//! wgpu, so the host tests see every dispatch. Binding 0 is `params`, then inputs, outputs last. A number
//! is fixed with the pipeline (an `override` constant), fixed per dispatch (a field of `Params`), or changes with every
//! token (a word of the [`Pass`](pass::Pass)); there is no fourth kind.

#[macro_use]
pub mod wgsl;

pub mod caps;
pub mod fetched;
pub mod pass;
pub mod reference;
pub mod shared;
pub mod spec;

pub mod argmax;
pub mod attention;
pub mod attention_batch;
pub mod attention_strided;
pub mod conv_causal;
pub mod cumsum;
pub mod delta_net;
pub mod elementwise;
pub mod fill;
pub mod find_rows;
pub mod gather;
pub mod gather_axis;
pub mod kv_type;
pub mod kv_write;
pub mod lanes;
pub mod layer_norm;
pub mod layout;
pub mod logit_bias;
pub mod mat_mul;
pub mod mat_mul_dense;
pub mod mat_mul_experts;
pub mod mat_mul_grouped;
pub mod mat_mul_int8;
pub mod mat_mul_subgroup_matrix;
pub mod mat_vec;
pub mod mat_vec_experts;
pub mod movement;
pub mod norm;
pub mod output_gate;
pub mod pool;
pub mod prologue;
pub mod reduce;
pub mod repack;
pub mod rope;
pub mod rope_batch;
pub mod rope_kv;
pub mod route;
pub mod sample;
pub mod selective_scan;
pub mod sinkhorn;
pub mod softmax;
pub mod ssm_scan;
pub mod swiglu;
pub mod top_k;
pub mod tuned;
pub mod unpack_f16;

use spec::KernelSpec;

/// Every kernel of the crate.
pub static CATALOGUE: &[&KernelSpec] = &[
    &argmax::SPEC,
    &argmax::MERGE,
    &attention::SPEC,
    &attention::DECODE,
    &attention::MERGE,
    &attention_batch::SPEC,
    #[cfg(feature = "harness")]
    &crate::compute::attention::FORWARD,
    #[cfg(feature = "harness")]
    &crate::compute::attention::GRAD,
    #[cfg(feature = "harness")]
    &crate::compute::attention::WEIGHTS,
    #[cfg(feature = "harness")]
    &crate::compute::conv::DIRECT,
    #[cfg(feature = "harness")]
    &crate::compute::conv::SPEC,
    #[cfg(feature = "harness")]
    &crate::compute::fft::SPEC,
    #[cfg(feature = "harness")]
    &crate::compute::group_norm::SPEC,
    #[cfg(feature = "harness")]
    &crate::compute::knn::SPEC,
    #[cfg(feature = "harness")]
    &crate::compute::pad::SPEC,
    #[cfg(feature = "harness")]
    &crate::compute::peaks::SPEC,
    #[cfg(feature = "harness")]
    &crate::compute::pool::SPEC,
    #[cfg(feature = "harness")]
    &crate::compute::pool_grad::SPEC,
    #[cfg(feature = "harness")]
    &crate::compute::upsample::SPEC,
    #[cfg(feature = "harness")]
    &crate::compute::welch::POWER,
    #[cfg(feature = "harness")]
    &crate::compute::welch::SEGMENTS,
    &delta_net::SPEC,
    &elementwise::SPEC,
    &elementwise::IN_PLACE,
    &fill::SPEC,
    &find_rows::SPEC,
    &attention_strided::SPEC,
    &conv_causal::SPEC,
    &cumsum::SPEC,
    &gather::SPEC,
    &gather_axis::LINKS,
    &gather_axis::SCATTER,
    &gather_axis::SPEC,
    &kv_write::SPEC,
    &layer_norm::RMS,
    &layer_norm::SPEC,
    &logit_bias::SPEC,
    &mat_mul::SPEC,
    &mat_mul_dense::FEW_SPEC,
    &mat_mul_dense::SPEC,
    &mat_mul_experts::ADD,
    &mat_mul_experts::SPEC,
    &mat_mul_experts::TILES,
    &mat_mul_grouped::EACH,
    &mat_mul_grouped::ROWS,
    &mat_mul_grouped::SPEC,
    &mat_mul_grouped::SUM,
    &mat_mul_int8::SPEC,
    &mat_mul_int8::QUANTISE,
    &mat_mul_subgroup_matrix::ROUND,
    &mat_mul_subgroup_matrix::SPEC,
    &mat_vec::SPEC,
    &mat_vec::SPLIT,
    &mat_vec_experts::SPEC,
    &movement::CONCAT,
    &movement::EXPAND,
    &movement::NARROW,
    &movement::TRANSPOSE,
    &movement::TRANSPOSE_TILED,
    &pool::SPEC,
    &output_gate::SPEC,
    &reduce::ARGMAX,
    &reduce::SPEC,
    &repack::SPEC,
    &norm::SPEC,
    &rope::SPEC,
    &rope::TABLE,
    &rope_batch::SPEC,
    &rope_kv::SPEC,
    &route::SPEC,
    &sample::PENALTIES,
    &sample::SPEC,
    &sample::HISTOGRAM,
    &sample::CANDIDATES,
    &selective_scan::SPEC,
    &sinkhorn::SPEC,
    &sinkhorn::ROWS,
    &sinkhorn::COLUMNS,
    &softmax::SPEC,
    &ssm_scan::CHUNK_PRODUCTS,
    &ssm_scan::CHUNK_SCAN,
    &ssm_scan::SPEC,
    &swiglu::SPEC,
    &top_k::SPEC,
    &unpack_f16::SPEC,
];
