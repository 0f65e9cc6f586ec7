//! `attention_batch_subgroup_matrix`: attention of inputs of many rows with products of f16 on subgroup matrices.

use super::tiled::Params;
use super::{BatchBuffers, BatchHeads, BatchRules};
use crate::kernels::attention::matrices::{ROWS, on_matrices};
use crate::kernels::spec::{Dispatch, Extent, Kernel, KernelSpec, PARAMS, read, write};

/// The contract with `shaders/device/model/attention_batch_subgroup_matrix.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "attention_batch_subgroup_matrix",
    bindings: &[PARAMS, read("this_pass"), read("inputs"), read("q"), read("k"), read("v"), write("y")],
    params: Params::LAYOUT,
    overrides: &["HEAD_DIM", "HEADS", "GROUP", "SCALE"],
};

/// Attention of every row of the pass over the rows of its own input.
pub fn attention_batch_subgroup_matrix(of: BatchHeads, rules: BatchRules, buffers: BatchBuffers) -> Dispatch {
    let BatchHeads { heads, kv_heads, head_dim } = of;
    let constants = [
        ("HEAD_DIM", head_dim.into()),
        ("HEADS", heads.into()),
        ("GROUP", (heads / kv_heads).into()),
        ("SCALE", rules.scale.into()),
    ];
    let BatchBuffers { pass, inputs, qkv, y } = buffers;
    let grid = [Extent::Fixed(heads), Extent::PerRows(ROWS), Extent::Fixed(1)];
    let kernel = on_matrices(Kernel::new(&SPEC, &constants)).import("halves", "halves_rounded");
    Dispatch::new(kernel, &Params::of(of, rules), &[pass, inputs, qkv, qkv, qkv, y], grid)
}
