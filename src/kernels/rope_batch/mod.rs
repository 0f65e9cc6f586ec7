//! Between the QKV projection and attention over a batch: norms over the heads of q and k and their rotation, in place.

#[cfg(feature = "harness")]
pub(crate) mod cases;

use super::attention_batch::BatchHeads;
use super::rope_kv::Rope;
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, bool_override, read, write};

/// The contract with `shaders/rare/model/rope_batch.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "rope_batch",
    bindings: &[PARAMS, read("this_pass"), read("frequencies"), read("q_norm"), read("k_norm"), write("qkv")],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "HEADS", "KV_HEADS", "HEAD_DIM", "ROPE_DIMS", "SPLIT_HALF", "QK_NORM", "EPS", "MAGNITUDE"],
};

/// Inputs of [`rope_batch`].
#[derive(Debug, Clone, Copy)]
pub struct RopeBatch {
    /// Shape of the layer.
    pub heads: BatchHeads,
    /// Rotation.
    pub rope: Rope,
    /// Factor of rotated pairs.
    pub magnitude: f32,
    /// [`frequency_table`](super::rope_kv::frequency_table) of the model.
    pub frequencies: Slice,
    /// Weights of the norms over each q and k head `[head_dim]` f32, and their epsilon.
    pub qk_norm: Option<(Slice, Slice, f32)>,
    /// `[rows, heads + 2 kv_heads, head_dim]` f32: q and k are replaced.
    pub qkv: Slice,
}

/// Normalises and rotates q and k of the pass's rows.
pub fn rope_batch(pass: Slice, dummy: Slice, problem: &RopeBatch) -> Dispatch {
    let BatchHeads { heads, kv_heads, head_dim } = problem.heads;
    let (q_norm, k_norm, eps) = problem.qk_norm.unwrap_or((dummy, dummy, 0.0));
    let constants = [
        ("WG_SIZE", 64.0),
        ("HEADS", heads.into()),
        ("KV_HEADS", kv_heads.into()),
        ("HEAD_DIM", head_dim.into()),
        ("ROPE_DIMS", problem.rope.dims.into()),
        ("SPLIT_HALF", bool_override(problem.rope.split_half)),
        ("QK_NORM", bool_override(problem.qk_norm.is_some())),
        ("EPS", eps.into()),
        ("MAGNITUDE", problem.magnitude.into()),
    ];
    let buffers = [pass, problem.frequencies, q_norm, k_norm, problem.qkv];
    let grid = [Extent::Fixed(heads + kv_heads), Extent::PerRows(1), Extent::Fixed(1)];
    Dispatch::new(Kernel::new(&SPEC, &constants), &NoParams::default(), &buffers, grid)
}
