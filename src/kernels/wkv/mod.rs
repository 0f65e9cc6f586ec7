//! RWKV's time mixing (RWKV-7, Peng et al. 2025, <https://arxiv.org/abs/2503.14456>; RWKV-6, Peng et al. 2024,
//! <https://arxiv.org/abs/2404.05892>): one dispatch takes every sequence of a pass along its rows, one or hundreds,
//! and reads and writes each state once.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::caps::Caps;
use super::delta_net::{DeltaHeads, with_column_sums};
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, read, write};

/// The contract with `shaders/rare/model/wkv.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "wkv",
    bindings: &[
        PARAMS,
        read("this_pass"),
        read("r"),
        read("w"),
        read("k"),
        read("v"),
        read("of_heads"),
        write("state"),
        write("y"),
    ],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "HEADS", "KV_HEADS", "HEAD_DIM", "FORM", "PARTS", "ITEMS", "TILE"],
};

/// Threads per workgroup.
const WG_SIZE: u32 = 128;

/// How a token changes the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// RWKV-6.
    Bonus,
    /// A gated linear attention.
    Gated,
    /// RWKV-7.
    Delta,
}

/// Inputs of [`wkv`]; all f32.
#[derive(Debug, Clone, Copy)]
pub struct Wkv {
    /// Heads of r are those of v, heads of k and v those of k.
    pub heads: DeltaHeads,
    /// How a token changes the state.
    pub form: Form,
    /// Sequences that have a state.
    pub sequences: u32,
    /// r `[rows, heads, head_dim]`; w the same, or for [`Form::Delta`] with the learning rate of each head behind that
    /// of w; k and v `[rows, kv_heads, head_dim]`.
    pub rwkv: [Slice; 4],
    /// `[heads, head_dim]`: the bonus; or factors of the removal key, then of the learning rate; not read for
    /// [`Form::Gated`].
    pub of_heads: Slice,
    /// [`DeltaHeads::state_bytes`]; what it holds counts as 0 for a sequence whose first row has position 0.
    pub state: Slice,
    /// `[rows, heads, head_dim]`
    pub y: Slice,
}

/// Takes the states of all sequences along their rows of the pass.
pub fn wkv(caps: &Caps, pass: Slice, problem: &Wkv) -> Dispatch {
    let &Wkv { heads, form, sequences, rwkv: [r, w, k, v], of_heads, state, y } = problem;
    let parts = heads.parts();
    let constants = [
        ("WG_SIZE", WG_SIZE.into()),
        ("HEADS", heads.v_heads.into()),
        ("KV_HEADS", heads.k_heads.into()),
        ("HEAD_DIM", heads.head_dim.into()),
        ("FORM", f64::from(form as u32)),
        ("PARTS", parts.into()),
        ("ITEMS", heads.items().into()),
        // Five vectors of a row of a head take 10 KiB at most.
        ("TILE", if heads.padded() <= 128 { 4.0 } else { 2.0 }),
    ];
    let kernel = with_column_sums(Kernel::new(&SPEC, &constants), caps, parts);
    let buffers = [pass, r, w, k, v, of_heads, state, y];
    let blocks = heads.head_dim.div_ceil(WG_SIZE / parts);
    let grid = [Extent::Fixed(heads.v_heads * blocks), Extent::Fixed(sequences), Extent::Fixed(1)];
    Dispatch::new(kernel, &NoParams::default(), &buffers, grid)
}
