//! The files of `shaders/shared/`, by name, for `#import`: those listed here, and those that the rows of `formats`
//! name.

use crate::formats::{SharedFile, shared_files};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        /// (name, text) of the files that belong to no format.
        const FILES: &[(&str, &str)] = &[$(($name, wgsl!("shared/", $name))),*];
    };
}

files![
    "activation",
    "bit_pairs",
    "block_of_16",
    "codebook",
    "columns_full",
    "columns_ragged",
    "column_sums_memory",
    "column_sums_subgroup",
    "commit",
    "delta_rows",
    "dense",
    "dense_4x4",
    "dense_8x8",
    "eight",
    "elements",
    "elementwise",
    "elementwise_chain",
    "elementwise_halves",
    "elementwise_inputs",
    "elementwise_single",
    "elementwise_steps",
    "elementwise_words",
    "expert_blocks",
    "expert_numbers",
    "expert_x",
    "f16_to_f32",
    "fifth_bit",
    "floats",
    "gelu",
    "ids_of_pass",
    "ids_of_tensor",
    "kv_f16",
    "kv_f32",
    "kv_ragged",
    "kv_value_f16",
    "kv_value_f32",
    "lanes",
    "links",
    "lowest",
    "mat_vec_rows",
    "math",
    "matrices_2x2",
    "matrices_4x4",
    "nibbles",
    "norm_full",
    "norm_ragged",
    "norm_rows",
    "online_softmax",
    "order_key",
    "product",
    "quants",
    "real_f16",
    "real_f32",
    "reduce",
    "repack_bits",
    "rotation",
    "rotations_computed",
    "rotations_table",
    "sample_bins",
    "sample_options",
    "sample_scratch",
    "sequence_rows",
    "shape_16x16x16",
    "shape_8x16x16",
    "shape_8x8x8",
    "silu",
    "sinkhorn_share",
    "six_bit_scales",
    "soft_cap",
    "spread_bits",
    "pass",
    "stored",
    "strided_copy",
    "subgroup_matrix",
    "thread_group_memory",
    "thread_group_subgroup",
    "visible",
    "partial_argmax",
    "x_limbs",
    "x_floats",
];

/// Every file, (name, text); some come twice.
pub fn files() -> impl Iterator<Item = SharedFile> {
    FILES.iter().copied().chain(shared_files())
}
