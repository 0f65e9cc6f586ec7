//! `attention_batch_tiled`: attention of inputs of many rows in tiles of 64 queries and 64 keys.

use super::{BatchBuffers, BatchHeads, BatchRules};
use crate::kernels::attention::tiled::{Parts, TILE};
use crate::kernels::spec::{Dispatch, Extent, Kernel, KernelSpec, PARAMS, params, read, write};

params! {
    /// Shape of the layer, and what its rows see. Elements are eight values.
    pub struct Params {
        /// Elements of a head.
        pub elements: u32,
        /// Elements from a row of q, k and v to the next.
        pub stride: u32,
        /// Element of a row where its keys start.
        pub k_at: u32,
        /// Element of a row where its values start.
        pub v_at: u32,
        /// As in `attention_batch`.
        pub causal: u32,
        /// As in `attention_batch`.
        pub window: u32,
    }
}

/// The contract with `shaders/rare/model/attention_batch_tiled.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "attention_batch_tiled",
    bindings: &[PARAMS, read("this_pass"), read("inputs"), read("q"), read("k"), read("v"), write("y")],
    params: Params::LAYOUT,
    overrides: &["HEAD_DIM", "PARTS", "COLUMN_PARTS", "BUFFERS", "WG_SIZE", "HEADS", "GROUP", "SCALE"],
};

impl Params {
    /// The parameters of a batch with q, k and v in one row.
    pub(super) fn of(of: BatchHeads, rules: BatchRules) -> Self {
        let BatchHeads { heads, kv_heads, head_dim } = of;
        let elements = head_dim / 8;
        Self {
            elements,
            stride: of.row() / 8,
            k_at: heads * elements,
            v_at: (heads + kv_heads) * elements,
            causal: rules.causal.into(),
            window: rules.window,
        }
    }
}

/// Whether the kernel, or that on subgroup matrices, can follow these rules.
pub fn can_take(rules: BatchRules) -> bool {
    rules.soft_cap == 0.0 && rules.alibi == 0.0 && rules.distances.is_none()
}

/// Attention of every row of the pass over the rows of its own input. A workgroup has `groups` groups of parts, as far
/// as these fit.
pub fn attention_batch_tiled(groups: u32, of: BatchHeads, rules: BatchRules, buffers: BatchBuffers) -> Dispatch {
    let BatchHeads { heads, kv_heads, head_dim } = of;
    let own = [
        ("HEAD_DIM", head_dim.into()),
        ("HEADS", heads.into()),
        ("GROUP", (heads / kv_heads).into()),
        ("SCALE", rules.scale.into()),
    ];
    let constants = [&Parts::of(head_dim, groups).constants(), own.as_slice()].concat();
    let BatchBuffers { pass, inputs, qkv, y } = buffers;
    let grid = [Extent::Fixed(heads), Extent::PerRows(TILE), Extent::Fixed(1)];
    Dispatch::new(Kernel::new(&SPEC, &constants), &Params::of(of, rules), &[pass, inputs, qkv, qkv, qkv, y], grid)
}
