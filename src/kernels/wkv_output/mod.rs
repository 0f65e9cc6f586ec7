//! The output of RWKV's time mixing (<https://arxiv.org/abs/2503.14456>): the norm of each head, what the token's own
//! key and value add to it, and the gate.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, bool_override, read, write};

/// The contract with `shaders/rare/model/wkv_output.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "wkv_output",
    bindings: &[PARAMS, read("r"), read("w"), read("k"), read("v"), read("gate"), read("of_heads"), write("y")],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "HEADS", "HEAD_DIM", "NORMED", "EPS", "OWN", "GATED"],
};

/// Inputs of [`wkv_output`]; all f32.
#[derive(Debug, Clone, Copy)]
pub struct WkvOutput {
    /// Heads, and values of each.
    pub heads: [u32; 2],
    /// Epsilon of the norm, if there is one.
    pub norm_eps: Option<f32>,
    /// r, k and v `[rows, heads, head_dim]`, and in the second place the learning rates, each head of them behind as
    /// many other values: what the token's own key and value add, if they do.
    pub own: Option<[Slice; 4]>,
    /// `[rows, heads, head_dim]`
    pub gate: Option<Slice>,
    /// `[heads, head_dim]` each: of the norm weight and bias; of the token's own how much keys follow the learning
    /// rate, and the factors of r · k.
    pub of_heads: Slice,
    /// `[rows, heads, head_dim]`: changed in place.
    pub y: Slice,
}

/// Changes the rows of the pass. `dummy` is bound where a part is missing.
pub fn wkv_output(problem: &WkvOutput, dummy: Slice) -> Dispatch {
    let &WkvOutput { heads: [heads, head_dim], norm_eps, own, gate, of_heads, y } = problem;
    let constants = [
        ("WG_SIZE", 64.0),
        ("HEADS", heads.into()),
        ("HEAD_DIM", head_dim.into()),
        ("NORMED", bool_override(norm_eps.is_some())),
        ("EPS", norm_eps.unwrap_or(0.0).into()),
        ("OWN", bool_override(own.is_some())),
        ("GATED", bool_override(gate.is_some())),
    ];
    let [r, w, k, v] = own.unwrap_or([dummy; 4]);
    let buffers = [r, w, k, v, gate.unwrap_or(dummy), of_heads, y];
    let grid = [Extent::PerRows(1), Extent::Fixed(heads), Extent::Fixed(1)];
    Dispatch::new(Kernel::new(&SPEC, &constants), &NoParams::default(), &buffers, grid)
}
