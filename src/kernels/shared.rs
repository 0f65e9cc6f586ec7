//! The files of `shaders/shared/`, by stem, for `#import`.

macro_rules! files {
    ($($stem:literal),* $(,)?) => {
        /// (stem, text)
        pub const FILES: &[(&str, &str)] = &[$(($stem, include_str!(concat!("../../shaders/shared/", $stem, ".wgsl")))),*];
    };
}

files![
    "bit_pairs",
    "columns_full",
    "columns_ragged",
    "commit",
    "eight",
    "fifth_bit",
    "floats",
    "mat_vec_rows",
    "nibbles",
    "norm_full",
    "norm_ragged",
    "quants",
    "reduce",
    "repack_bits",
    "repack_f32",
    "repack_half",
    "repack_q2_k",
    "repack_q3_k",
    "repack_q4_0",
    "repack_q4_1",
    "repack_q4_k",
    "repack_q5_0",
    "repack_q5_1",
    "repack_q5_k",
    "repack_q6_k",
    "repack_q8_0",
    "sample_options",
    "silu",
    "six_bit_scales",
    "spread_bits",
    "state",
    "weights_bf16",
    "weights_f16",
    "weights_f32",
    "weights_q2_k",
    "weights_q3_k",
    "weights_q4_0",
    "weights_q4_1",
    "weights_q4_k",
    "weights_q5_0",
    "weights_q5_1",
    "weights_q5_k",
    "weights_q6_k",
    "weights_q8_0",
    "winner",
];
