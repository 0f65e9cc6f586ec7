//! The terms that adapters add to products with the matrices of experts. The products take them, together with their
//! biases, for biases of entries: choices of tokens.

use super::SLOTS;
use crate::kernels::route::Counts;
use crate::kernels::spec::{Dispatch, Extent, Kernel, KernelSpec, PARAMS, Slice, bool_override, params, read, write};

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// The adapter's scale among those of a sequence.
        pub slot: u32,
        /// Values of a row of x.
        pub cols: u32,
        /// Values from one row of x to the next.
        pub x_stride: u32,
        /// Values of y for an expert.
        pub outputs: u32,
        /// Ranks of the matrices before A.
        pub first: u32,
        /// Rank of A and B; 0 where the adapter leaves the products as they are.
        pub rank: u32,
        /// The first value of B.
        pub at: u32,
        /// Rows of B from one expert to the next.
        pub b_rows: u32,
        /// The first bias.
        pub bias_at: u32,
    }
}

/// The contract with `shaders/rare/model/lora_experts.wgsl`.
pub static EXPERTS: KernelSpec = KernelSpec {
    kernel_name: "lora_experts",
    bindings: &[
        PARAMS,
        read("this_pass"),
        read("scales"),
        read("routes"),
        read("a"),
        read("b"),
        read("x"),
        read("bias"),
        write("y"),
    ],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE", "SLOTS", "EXPERTS", "TOP", "SHARE", "BIAS", "ADD", "LANES"],
};

/// Threads of a workgroup.
const WG_SIZE: u32 = 256;
/// Threads that add up one value of A · x.
const LANES: u32 = 16;
/// Values that a workgroup computes.
const OUTPUTS: u32 = 4 * WG_SIZE;

/// An adapter's change of products with experts' matrices.
#[derive(Debug, Clone, Copy)]
pub struct LoraOfExperts {
    /// Sizes.
    pub counts: Counts,
    /// A row of x for each choice, not for each token.
    pub per_choice: bool,
    /// Whether y, which has the biases, is added to.
    pub add: bool,
    /// `[experts, outputs]` f32, from `bias_at` on.
    pub bias: Option<Slice>,
    /// Numbers.
    pub params: Params,
}

impl LoraOfExperts {
    /// `y = bias + scale · B · A · x` for the entries of `rows` rows; `None`: of all rows of the pass. The slices: the
    /// pass, scales, routes `[tokens, 2 · used]`, A `[experts, rank, cols]` of several, B `[experts, b_rows, rank]` of
    /// each, x `[tokens, x_stride]`, or `[tokens · used, x_stride]` with a row for each choice, y
    /// `[tokens · used, outputs]`.
    pub fn dispatch(&self, [pass, scales, routes, a, b, x, y]: [Slice; 7], rows: Option<u32>) -> Dispatch {
        let Self { counts: Counts { experts, used }, per_choice, add, bias, ref params } = *self;
        let kernel = Kernel::new(
            &EXPERTS,
            &[
                ("WG_SIZE", WG_SIZE.into()),
                ("LANES", LANES.into()),
                ("SLOTS", SLOTS as f64),
                ("EXPERTS", experts.into()),
                ("TOP", used.into()),
                ("SHARE", if per_choice { 1.0 } else { used.into() }),
                ("BIAS", bool_override(bias.is_some())),
                ("ADD", bool_override(add)),
            ],
        );
        let entries = match rows {
            Some(rows) => Extent::Fixed(rows * used),
            None => Extent::Tiles { of_row: used, tile: 1, most_open: 0 },
        };
        let grid = [Extent::Fixed(params.outputs.div_ceil(OUTPUTS)), entries, Extent::Fixed(1)];
        Dispatch::new(kernel, params, &[pass, scales, routes, a, b, x, bias.unwrap_or(pass), y], grid)
    }
}
